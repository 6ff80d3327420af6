package plugin

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon/plugin"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/host"
	"github.com/weft-hpc/weft/sdk/conformance"
)

type target struct {
	title    string
	from     string // where it is from, for people
	kind     host.Kind
	program  host.Program
	config   *config.Config // nil: none was named
	site     conformance.Site
	complain func(error) // shows the lines of a complaint
	sim      bool        // the simulated driver
	state    string      // its folder in the configuration
}

// findTarget finds PATH or NAME.
func findTarget(what, path string) (*target, error) {
	t := &target{from: "built in"}
	if path != "" {
		c, findings := config.Load(path)
		if hclfile.Failed(findings) {
			return nil, cli.Unusable(path, findings)
		}
		cli.Show(findings)
		t.config = c
	}
	program := ""
	if strings.ContainsRune(what, '/') {
		abs, err := filepath.Abs(what)
		if err != nil {
			return nil, cli.Usage("plugin %q: %w", core.Clip(what), err)
		}
		program = abs
	}
	if t.config != nil {
		for _, p := range slices.Concat(t.config.Drivers, t.config.Schedulers) {
			if program != "" && len(p.Command) > 0 && p.Command[0] == program || program == "" && p.Name == what {
				return t.ofBlock(p)
			}
		}
	}
	if program != "" {
		t.title, t.from, t.program = what, "its program with its defaults", host.Program{Path: program, Args: []string{program}}
		return t, nil
	}
	return t.builtin(what)
}

func (t *target) ofBlock(p config.Plugin) (*target, error) {
	t.kind, t.title, t.from = host.Kind(p.Kind), p.Kind+" "+p.Name, "as "+t.config.File+" has it"
	switch {
	case len(p.Command) > 0:
		t.program = host.Program{Path: p.Command[0], Args: p.Command, SHA256: p.SHA256}
	case slices.Contains(plugin.Builtins()[t.kind], p.Type):
		t.program = plugin.Self(t.kind, p.Type, p.Name)
		t.sim = t.kind == host.Driver && p.Type == "sim"
	default:
		return nil, cli.Unusable(t.config.File, []hclfile.Finding{p.NoType(plugin.Builtins()[t.kind])})
	}
	t.complain = func(err error) { cli.Show(p.Complain(err)) }
	t.site.Block = func(s core.Schema) (core.Values, error) {
		v, findings := p.Decode(s)
		if err := hclfile.AsError(findings); err != nil {
			cli.Show(findings)
			return nil, err
		}
		return v, nil
	}
	if t.sim {
		v, err := t.site.Block(sim.New(sim.Options{}).Schema())
		if err != nil {
			return nil, cli.Unusable(t.config.File, nil)
		}
		t.state, _ = v["state"].(string)
	}
	return t, nil
}

// builtin is a plugin that is part of weft, with its defaults.
func (t *target) builtin(name string) (*target, error) {
	var known []string
	for _, kind := range slices.Sorted(maps.Keys(plugin.Builtins())) {
		types := plugin.Builtins()[kind]
		known = append(known, types...)
		if slices.Contains(types, name) {
			t.kind, t.title = kind, string(kind)+" "+name
			t.program = plugin.Self(kind, name, name)
			t.sim = kind == host.Driver && name == "sim"
			return t, nil
		}
	}
	return nil, core.Errorf(core.BadCall, "plugin %q: it is no label of a block of the configuration, and none of that type is built in", core.Clip(name)).
		WithRemedy("name one of " + strings.Join(known, ", ") + ", a block's label beside --config, or a program's path with a slash in it")
}

// simulated is for the simulated driver: its NICs lie in a folder, which is the run's own where the configuration names none.
func (t *target) simulated(state string) {
	if t.config == nil {
		t.site.VNIs, t.site.Expendable = conformance.TestVNIs, true
		t.site.Values = core.Values{"state": state, "sync": false}
	} else if t.state == "" {
		t.site.InMemory = true
		return
	}
	if t.site.Hold == nil {
		t.site.Hold = func(ctx context.Context, s core.Service) (func(), error) {
			l, err := sim.At(state).Open(ctx, s.Device, s.ID, kernel.Caller{EUID: s.Owner.ID, EGID: s.Owner.ID})
			if err != nil {
				return nil, err
			}
			return func() { _ = l.Close() }, nil
		}
	}
}
