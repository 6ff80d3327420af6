package install

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-hpc/weft/core"
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
}

// Plan is what an installation, or its removal, finds and would change.
type Plan struct {
	plan.Plan
	Lines    []string // what the marked block of slurm.conf says
	Replaced []string // "FILE:LINE: TEXT" of each line that becomes a comment
	Files    []string // the hook files that are in force afterwards, on every node; of a removal: those that stay until Slurm has read slurm.conf without them
}

func (o Options) check() error {
	for _, path := range []string{o.Conf, o.Hooks, o.Hook} {
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
	return o.plan(c, host{})
}

func (o Options) plan(c *conf, h host) (*Plan, error) {
	if o.Scheduler == "" {
		o.Scheduler = cmp.Or(schedulerOf(h.text(filepath.Join(o.Hooks, "taskprolog"))), "slurm")
	}
	o.Alloc = o.Alloc || slices.ContainsFunc(c.Files[0].Lines, func(l string) bool { return strings.HasPrefix(l, "PrologFlags=") })
	f := check(c, o.Alloc)
	chains := o.chains(c, h, &f)
	o.binaries(h, &f)
	p := &Plan{}
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
	var scripts, left []plan.Change
	for _, ch := range chains {
		if ch.set {
			p.Lines = append(p.Lines, ch.key+"="+ch.file)
		}
		for _, s := range ch.replace {
			replace(s)
		}
		text := script{phase: ch.phase, scheduler: o.Scheduler, hook: o.Hook, dir: o.Dir, site: ch.site}.text()
		p.Files = append(p.Files, ch.file)
		if was := h.text(ch.file); !bytes.Equal(was, text) {
			if ours, intact := isSealed(was); h.taken(ch.file) && !intact {
				f.foreign(ch.file, ours)
			}
			scripts = append(scripts, plan.Change{Path: ch.file, Text: text, Was: was, Mode: 0o755})
		}
		for _, stale := range h.ours(ch.folder) {
			if stale != ch.file {
				left = append(left, plan.Change{Path: stale, Was: h.text(stale), Gone: true})
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
	if cached(o.Conf) && len(confs) > 0 {
		f.add(plan.Refusal, setting{File: o.Conf, First: 1}, "slurm.conf", "run this where the controller's slurm.conf is; then again here, for the hook files", "this is slurmd's copy of the controller's, which the next reconfigure replaces")
	}
	p.Findings = f
	p.Changes = slices.Concat(scripts, confs, left)
	return p, nil
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
func (o Options) binaries(h host, f *findings) {
	for _, path := range []string{o.Hook, o.Hooks} {
		if why := h.guarded(path); why != "" {
			f.add(plan.Refusal, setting{}, "files", "change its owner or mode, or take another place for it", "%s: %s", path, why)
		}
	}
	if !h.there(o.Hook) {
		f.add(plan.Refusal, setting{}, "weft-hook", "install it at that path on every node, or say with --weft-hook where it is", "%s: there is no such program on this host", o.Hook)
	}
}

// foreign refuses to write over what somebody else wrote.
func (f *findings) foreign(path string, ours bool) {
	what := "%s: it is there and Weft did not write it"
	if ours {
		what = "%s: it was edited by hand since Weft wrote it"
	}
	f.add(plan.Refusal, setting{}, "files", "move it away if it can go", what, path)
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
	h := host{}
	var f findings
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
	if cached(o.Conf) && len(p.Changes) > 0 {
		f.add(plan.Refusal, setting{File: o.Conf, First: 1}, "slurm.conf", "run this where the controller's slurm.conf is", "this is slurmd's copy of the controller's, which the next reconfigure replaces")
	}
	for _, hook := range hooks {
		for _, s := range c.all(hook.key) {
			theirs = append(theirs, filepath.Dir(s.Value))
			if ours, _ := isSealed(h.text(s.Value)); ours {
				f.add(plan.Refusal, s, hook.key, "take the line out by hand, or name there again what was there before", "%s is Weft's, and the line is not: it is not in the block that Weft marked", s.Value)
			}
		}
	}
	lines := len(p.Changes) > 0
	seen := map[string]bool{}
	for i, dir := range slices.Concat(own, theirs) {
		if seen[dir] || !filepath.IsAbs(dir) {
			continue
		}
		seen[dir] = true
		for _, path := range h.ours(dir) {
			text := h.text(path)
			if _, intact := isSealed(text); !intact {
				f.foreign(path, true)
			}
			if lines {
				p.Files = append(p.Files, path)
				continue
			}
			p.Changes = append(p.Changes, plan.Change{Path: path, Was: text, Gone: true, Own: i < len(own)})
		}
	}
	p.Findings = f
	return p, nil
}
