package plugin

import (
	"context"
	"errors"
	"sync"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/host"
)

// Blocks are the plugins' blocks of config.hcl that are in force. A plugin takes its own at each start.
type Blocks struct {
	mu sync.Mutex
	in map[string]config.Plugin
	// wrong is what the last start of each plugin found wrong with its block, before the plugin had seen it: the error of that start has one line of it.
	wrong map[string][]hclfile.Finding
}

// set puts a block in force, for the next start of its plugin, and gives the one before.
func (b *Blocks) set(p config.Plugin) config.Plugin {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.in == nil {
		b.in, b.wrong = map[string]config.Plugin{}, map[string][]hclfile.Finding{}
	}
	title := p.Kind + " " + p.Name
	before := b.in[title]
	b.in[title] = p
	delete(b.wrong, title)
	return before
}

// decode reads what is in force of p's block.
func (b *Blocks) decode(p config.Plugin, schema core.Schema) (core.Values, error) {
	title := p.Kind + " " + p.Name
	b.mu.Lock()
	defer b.mu.Unlock()
	p = b.in[title]
	v, findings := p.Decode(schema)
	b.wrong[title] = findings
	return v, hclfile.AsError(findings)
}

// complaints are what is wrong with p's block, by what its start said and found; none when something else is.
func (b *Blocks) complaints(p config.Plugin, err error) []hclfile.Finding {
	if _, ok := errors.AsType[*core.PathError](err); ok {
		return p.Complain(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if found := b.wrong[p.Kind+" "+p.Name]; hclfile.Failed(found) {
		return found
	}
	return nil
}

// Reconfigure starts plugins anew with these blocks, which touches no job. When one of them does not take its block, all have the former ones again, and what
// is wrong is returned. undo does the same later, and returns which plugins do not start with their former blocks either.
func (b *Blocks) Reconfigure(ctx context.Context, plugins *host.Host, anew []config.Plugin) (
	undo func() []hclfile.Finding, findings []hclfile.Finding, err error,
) {
	var done []config.Plugin
	undo = func() (fallen []hclfile.Finding) {
		ctx := context.WithoutCancel(ctx)
		for _, p := range done {
			b.set(p)
		}
		for _, p := range done {
			if running := plugins.Plugin(host.Kind(p.Kind), p.Name); running != nil {
				if err := running.Restart(ctx); err != nil {
					// The line of its cause is one of the former file.
					err = core.Errorf(core.PluginAway, "it does not start with its former block either: %v", err).
						WithRemedy("`weft plugin list` shows its state; mend its block, and run `weft reload` again")
					fallen = append(fallen, p.Complain(err)...)
				}
			}
		}
		return fallen
	}
	for _, p := range anew {
		running := plugins.Plugin(host.Kind(p.Kind), p.Name)
		if running == nil {
			continue // it is part of the daemon
		}
		done = append(done, b.set(p))
		if err := running.Try(ctx); err != nil {
			complaints := b.complaints(p, err)
			fallen := undo()
			if complaints != nil {
				return nil, append(complaints, fallen...), nil
			}
			return nil, fallen, err
		}
	}
	return undo, nil, nil
}

// bounds are those of what is in force of p's block.
func (b *Blocks) bounds(p config.Plugin) host.Bounds {
	b.mu.Lock()
	defer b.mu.Unlock()
	p = b.in[p.Kind+" "+p.Name]
	return host.Bounds{Memory: int64(p.Memory) << 20, Processes: p.Processes}
}

// Spec says how the plugin of a block is run, and puts the block in force.
func (b *Blocks) Spec(kind host.Kind, p config.Plugin) (host.Spec, []hclfile.Finding) {
	s := host.Spec{
		Kind: kind, Name: p.Name, AutoMTLS: p.AutoMTLS,
		Block:  func(schema core.Schema) (core.Values, error) { return b.decode(p, schema) },
		Bounds: func() host.Bounds { return b.bounds(p) },
	}
	b.set(p)
	if findings := UnknownTypes(p); findings != nil {
		return s, findings
	}
	switch {
	case len(p.Command) > 0:
		s.Program = host.Program{Path: p.Command[0], Args: p.Command, SHA256: p.SHA256}
	case p.InProcess:
		s.Value = builtins[kind][p.Type](p.Name)
	default:
		s.Program = Self(kind, p.Type, p.Name)
	}
	return s, nil
}
