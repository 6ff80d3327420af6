package install

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
	"github.com/weft-hpc/weft/plan"
	"github.com/weft-hpc/weft/plugins/slurm/stack"
)

// Spank is the SPANK plugin of an installation that has it; the hooks but Epilog can do without it then.
type Spank struct {
	Plugin string                                   // weft.so, at the same path on every host
	Source []byte                                   // weft.c
	Built  func(path string) (stack.Release, error) // stack.Built
	// Prove tells which release of Slurm loads the plugin at path. lines are those of slurm.conf that it needs.
	Prove func(path string, lines []string) (stack.Release, error)
}

// SourceFile is the plugin's source, in the folder of the hook files.
const SourceFile = "weft.c"

// stacked is the path of plugstack.conf: that in slurm.conf, or next to it (default_plugstack, read_config.c, 22.05.8).
func stacked(c *conf) string {
	dir := filepath.Dir(c.Files[0].Path)
	s, _ := c.last("PlugStackConfig")
	path := cmp.Or(s.Value, "plugstack.conf")
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.Clean(path)
}

// line loads the plugin. A required one fails a step where an optional one lets it start without its network.
func (o Options) line() string {
	line := "required " + o.Spank.Plugin + " scheduler=" + o.Scheduler
	if o.Dir != "" {
		line += " run=" + o.Dir
	}
	return line + " hook=" + o.Hook
}

// Compile is the command that makes the plugin of its source.
func (o Options) Compile() string {
	return fmt.Sprintf("mkdir -p %s && cc -O2 -Wall -shared -fPIC -o %s %s", filepath.Dir(o.Spank.Plugin), o.Spank.Plugin,
		filepath.Join(o.Hooks, SourceFile))
}

// spank plans the line of plugstack.conf and judges the plugin.
func (p *Plan) spank(o Options, c *conf) {
	p.plugin(o, c)
	path := stacked(c)
	now, base, err := bare(path)
	if err != nil {
		remedy := ""
		if e, ok := errors.AsType[*core.Error](err); ok {
			remedy = e.Known()
		}
		p.Add(plan.Refusal, "plugstack.conf", remedy, "%v", err)
		return
	}
	all, err := stack.ReadWith(path, base)
	if err != nil {
		p.Add(plan.Refusal, "plugstack.conf", "mend it: Slurm reads it too", "%v", err)
		return
	}
	at := func(l stack.Line) setting { return setting{File: l.File, First: l.Number} }
	for _, l := range all.Ignored {
		p.add(plan.Warning, at(l), "plugstack.conf", "correct the line", "Slurm passes over %q", l.Plugin)
	}
	line := o.line()
	for _, l := range all.Loads(filepath.Base(o.Spank.Plugin)) {
		if l.Required && l.Plugin == o.Spank.Plugin && slices.Equal(l.Args, strings.Fields(line)[2:]) {
			p.add(plan.Fine, at(l), "plugstack.conf", "", "it loads Weft's plugin already")
			line = ""
			continue
		}
		p.add(plan.Refusal, at(l), "plugstack.conf", "take the line out by hand, or write it as: "+line,
			"it loads a plugin of that name otherwise than Weft would")
	}
	text := base
	if line != "" {
		b := block([]string{line}, nil)
		text = appendBlock(base, b)
		p.Stack = strings.Split(strings.TrimSuffix(b, "\n"), "\n")
	}
	if o.Files {
		p.Stack = nil
		return
	}
	if !bytes.Equal(text, now) {
		p.Add(plan.Warning, "plugstack.conf",
			"bring it to the login and submit hosts first, then to every node, and only then write the line",
			"where %s is missing, sbatch, srun and salloc refuse to start, no step starts on a node, and Slurm drains it "+
				"at its first batch job", o.Spank.Plugin)
		ch := plan.Change{Path: path, Text: text, Was: now, Site: now != nil}
		if now == nil {
			ch.Mode = 0o644
		}
		p.Changes = append(p.Changes, ch)
	}
}

// bare reads a plugstack.conf as it is, and as it is without Weft; now is nil where there is none.
func bare(path string) (now, base []byte, err error) {
	now, err = readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, file.Bare(err))
	}
	if bytes.IndexByte(now, 0) >= 0 {
		return nil, nil, fmt.Errorf("%s: it has a zero byte, so it is not a text", path)
	}
	base, _, err = restore(path, now)
	return now, base, err
}

// plugin judges weft.so.
func (p *Plan) plugin(o Options, c *conf) {
	path := o.Spank.Plugin
	build := "`weft init slurm --spank --files --write` writes the source; then, with the slurm/spank.h of this Slurm: " +
		o.Compile()
	built, err := o.Spank.Built(path)
	if err != nil {
		if o.Files {
			p.Add(plan.Warning, stack.File, build, "%v", err)
			return
		}
		p.Add(plan.Refusal, stack.File, build, "%v", err)
		return
	}
	if release, err := o.Spank.Prove(path, c.started()); err != nil {
		p.Add(plan.Refusal, stack.File, build, "it was built for Slurm %s, and this host's does not load it: %v", built, err)
	} else {
		p.Add(plan.Fine, stack.File, "", "it was built for Slurm %s, and this host's Slurm %s has loaded it", built, release)
	}
}

// unstack plans to take the line out of plugstack.conf. A file that had nothing else goes.
func (p *Plan) unstack(c *conf) error {
	path := stacked(c)
	now, base, err := bare(path)
	if err != nil || bytes.Equal(now, base) {
		return err
	}
	p.Changes = append(p.Changes, plan.Change{Path: path, Text: base, Was: now, Gone: len(base) == 0, Site: len(base) > 0})
	return nil
}
