package install

import (
	"bytes"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
	"github.com/weft-hpc/weft/plan"
)

// Options say what is to be installed where. Paths are absolute.
type Options struct {
	Conf      string // slurm.conf
	Hooks     string // folder of the hook files
	Scheduler string // the instance as the hooks name it: its label in config.hcl, or "slurm" while that is unique; "": what the hook files say, or "slurm"
	Hook      string // weft-hook, at the same path on every node
	Dir       string // the agent's run directory; "" is the default
	Alloc     bool   // set PrologFlags=Alloc; what was set by it before stays
	Files     bool   // the hook files alone: slurm.conf stays as it is
	Observed  bool   // config.hcl has `mode = "observe"` for the scheduler
	Spank     *Spank // nil: the hooks alone
}

// Plan is what an installation, or its removal, finds and would change.
type Plan struct {
	plan.Plan
	Lines    []string // what the marked block of slurm.conf says
	Replaced []string // "FILE:LINE: TEXT" of each line that becomes a comment
	Stack    []string // the marked block of plugstack.conf
	Files    []string // the hook files that are in force afterwards, on every node; of a removal: those that stay until Slurm has read slurm.conf without them
}

// add adds a finding about a setting.
func (p *Plan) add(level plan.Level, s setting, key, remedy, format string, args ...any) {
	p.Add(level, key, remedy, format, args...)
	f := &p.Findings[len(p.Findings)-1]
	f.File, f.Line = s.File, s.First
}

func (o Options) check() error {
	paths := []string{o.Conf, o.Hooks, o.Hook}
	if o.Spank != nil {
		paths = append(paths, o.Spank.Plugin)
	}
	for _, path := range paths {
		if !filepath.IsAbs(path) || strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '"' || r == '#' || r == '\\' }) {
			return core.Errorf(core.BadCall, "%q: it must be an absolute path, without blanks and such, to stand in slurm.conf", core.Clip(path))
		}
		if path != o.Conf && strings.ContainsAny(path, patterned) {
			return core.Errorf(core.BadCall, "%q: Slurm would take it for a pattern", core.Clip(path))
		}
	}
	if o.Scheduler == "" {
		return nil
	}
	return core.CheckName("scheduler", o.Scheduler, core.MaxScheduler)
}

// New plans an installation.
func New(o Options) (*Plan, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	c, err := readConf(o.Conf, readFile)
	if err != nil {
		return nil, err
	}
	return o.plan(c), nil
}

func (o Options) plan(c *conf) *Plan {
	if o.Scheduler == "" {
		o.Scheduler = "slurm"
		for _, phase := range []string{"taskprolog", "epilog"} {
			if name := schedulerOf(textOf(filepath.Join(o.Hooks, phase))); name != "" {
				o.Scheduler = name
				break
			}
		}
	}
	o.Alloc = o.Alloc || slices.ContainsFunc(c.Files[0].Lines, func(l string) bool { return strings.HasPrefix(l, "PrologFlags=") })
	phases := hooks
	if o.Spank != nil && textOf(filepath.Join(o.Hooks, "taskprolog")) == nil { // hooks that are there stay
		phases = hooks[2:]
	}
	p := &Plan{}
	p.check(c, o, len(phases) == len(hooks))
	p.parameters(o, c)
	chains := p.chains(o, c, phases)
	p.binaries(o, c)
	if o.Spank != nil {
		p.Own(plan.Change{Path: filepath.Join(o.Hooks, SourceFile), Text: plan.Sealed("//", string(o.Spank.Source)), Mode: 0o644, Brief: true}, plan.IsSealed)
	}
	lost := map[string]map[int]bool{}
	replace := func(s setting) {
		if lost[s.File] == nil {
			lost[s.File] = map[int]bool{}
		}
		for n := s.First; n <= s.Last; n++ {
			lost[s.File][n] = true
		}
		p.Replaced = append(p.Replaced, fmt.Sprintf("%s:%d: %s=%s", s.File, s.First, s.Key, s.Value))
	}
	var left []plan.Change
	for _, ch := range chains {
		if ch.set {
			p.Lines = append(p.Lines, ch.key+"="+ch.file)
		}
		for _, s := range ch.replace {
			replace(s)
		}
		text := script{hook: ch.hook, scheduler: o.Scheduler, program: o.Hook, dir: o.Dir, site: ch.site, lenient: len(phases) == 1}.file()
		p.Files = append(p.Files, ch.file)
		p.Own(plan.Change{Path: ch.file, Text: text, Mode: 0o755}, plan.IsSealed)
		stale, _, _ := folder(ch.folder)
		for _, name := range stale {
			if path := filepath.Join(ch.folder, name); path != ch.file {
				left = append(left, plan.Change{Path: path, Was: textOf(path), Gone: true})
			}
		}
	}
	if o.Alloc && !c.has("PrologFlags", allocating...) {
		flags := "Alloc"
		if s, set := c.last("PrologFlags"); set {
			for _, s := range c.all("PrologFlags") {
				replace(s)
			}
			if s.Value != "" {
				flags = s.Value + ",Alloc"
			}
		}
		p.Lines = append(p.Lines, "PrologFlags="+flags)
	}
	confs := p.edit(c, lost)
	if o.Files {
		confs, p.Lines, p.Replaced = nil, nil, nil
	}
	own := len(p.Changes)
	if o.Spank != nil {
		p.spank(o, c)
	}
	if cached(o.Conf) && len(confs)+len(p.Changes)-own > 0 {
		p.add(plan.Refusal, setting{File: o.Conf, First: 1}, "slurm.conf", "run this where the controller's slurm.conf is; then again here, for the hook files", "this is slurmd's copy of the controller's, which the next reconfigure replaces")
	}
	stacks := slices.Clone(p.Changes[own:])
	p.Changes = slices.Concat(p.Changes[:own], confs, stacks, left)
	return p
}

// edit plans the new texts of slurm.conf and of what it includes: the included files first, and the block, which tells of them, last.
func (p *Plan) edit(c *conf, lost map[string]map[int]bool) []plan.Change {
	var told []replaced
	var out []plan.Change
	for i := len(c.Files) - 1; i >= 0; i-- {
		f := c.Files[i]
		text := comment(f.Base, lost[f.Path])
		if n := len(lost[f.Path]); n > 0 {
			told = append(told, replaced{c.short(f), n})
		}
		if i == 0 && (len(p.Lines) > 0 || len(told) > 0) {
			b := block(p.Lines, told)
			p.Lines = strings.Split(strings.TrimSuffix(b, "\n"), "\n")
			text = appendBlock(text, b)
		}
		if !bytes.Equal(text, f.Now) {
			out = append(out, plan.Change{Path: f.Path, Text: text, Was: f.Now, Site: true})
		}
	}
	return out
}

// binaries judges what the hooks will run.
func (p *Plan) binaries(o Options, c *conf) {
	type needed struct {
		path string
		mode fs.FileMode
	}
	all := []needed{{o.Hook, 0o005}, {o.Hooks, 0o005}}
	if o.Spank != nil {
		all = append(all, needed{o.Spank.Plugin, 0o004}, needed{stacked(c), 0o004})
	}
	for _, n := range all {
		path := n.path
		if d := file.Trust(path); d != nil {
			p.Add(plan.Refusal, "files", d.Remedy, "%v, and slurmd runs as root what is there", d)
		} else if why := closed(path, n.mode); why != "" {
			p.Add(plan.Refusal, "files", "change its mode, or take another place for it", "%s: %s", path, why)
		}
	}
	if !file.Runs(o.Hook) {
		p.Add(plan.Refusal, "weft-hook", "install it at that path on every node, or say with --weft-hook where it is",
			"%s: there is no such program on this host", o.Hook)
	}
}

// Removal plans to take out whatever an installation has put in: first the lines, then, planned anew, the hook files. Until every slurmd has read slurm.conf
// without the lines it drains a node whose Prolog or Epilog it does not find, and whether it has cannot be seen from here.
func Removal(o Options) (*Plan, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	c, err := readConf(o.Conf, readFile)
	if err != nil {
		return nil, err
	}
	p := &Plan{}
	own := []string{o.Hooks}
	var theirs []string
	for _, file := range c.Files {
		for _, line := range file.Lines {
			for _, hook := range hooks {
				if path, ok := strings.CutPrefix(line, hook.key+"="); ok {
					own = append(own, filepath.Dir(path))
				}
			}
		}
		if !bytes.Equal(file.Base, file.Now) {
			p.Changes = append(p.Changes, plan.Change{Path: file.Path, Text: file.Base, Was: file.Now, Site: true})
		}
	}
	if err := p.unstack(c); err != nil {
		return nil, err
	}
	if cached(o.Conf) && len(p.Changes) > 0 {
		p.add(plan.Refusal, setting{File: o.Conf, First: 1}, "slurm.conf", "run this where the controller's slurm.conf is", "this is slurmd's copy of the controller's, which the next reconfigure replaces")
	}
	for _, hook := range hooks {
		for _, s := range c.all(hook.key) {
			theirs = append(theirs, filepath.Dir(s.Value))
			if ours, _ := plan.IsSealed(textOf(s.Value)); ours {
				p.add(plan.Refusal, s, hook.key, "take the line out by hand, or name there again what was there before", "%s is Weft's, and the line is not: it is not in the block that Weft marked", s.Value)
			}
		}
	}
	lines := len(p.Changes)
	seen := map[string]bool{}
	for i, dir := range slices.Concat(own, theirs) {
		if seen[dir] || !filepath.IsAbs(dir) {
			continue
		}
		seen[dir] = true
		names, _, _ := folder(dir)
		for _, name := range names {
			path := filepath.Join(dir, name)
			p.Own(plan.Change{Path: path, Gone: true, Own: i < len(own)}, plan.IsSealed)
			if lines > 0 {
				p.Files = append(p.Files, path)
			}
		}
	}
	if lines > 0 {
		p.Changes = p.Changes[:lines]
	}
	return p, nil
}
