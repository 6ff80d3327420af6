package install

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
	"github.com/weft-hpc/weft/plan"
)

// Options say what is to be installed where. Paths are absolute.
type Options struct {
	System    string        // /etc/flux/system: folders of scriptlets and of configuration
	Shell     string        // /etc/flux/shell/lua.d
	Scheduler string        // the instance as the hooks name it
	Hook      string        // weft-hook, at the same path on every node
	Dir       string        // the agent's run directory; "" is the default
	URI       string        // the instance's socket on each node
	Wait      time.Duration // how long a prolog waits for what Weft cannot give now
	Try       time.Duration // of one try of it: prolog_timeout of the scheduler's block
}

// Bounds of Wait.
const (
	LeastWait = time.Second
	MostWait  = 6 * time.Hour
	MostTry   = time.Hour // as the block has it
)

// Plan is what an installation, or its removal, finds and would change.
type Plan struct {
	plan.Plan
	Lines  string // what Flux's configuration must have
	ByHand bool   // a person must bring Lines in, which a finding says
}

// maxFile bounds a file of Flux's configuration, in bytes.
const maxFile = 1 << 20

func (o Options) check() error {
	for _, path := range []string{o.System, o.Shell, o.Hook, o.Dir} {
		if path == "" && path == o.Dir {
			continue
		}
		if !filepath.IsAbs(path) || strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return core.Errorf(core.BadCall, "%q: it must be an absolute path", core.Clip(path))
		}
	}
	if strings.ContainsFunc(o.URI, func(r rune) bool { return r <= ' ' || r == 0x7f }) || !strings.HasPrefix(o.URI, "local://") {
		return core.Errorf(core.BadCall, "%q: it is no URI of a local socket", core.Clip(o.URI))
	}
	if o.Wait < LeastWait || o.Wait > MostWait {
		return core.Errorf(core.BadCall, "wait: %s is not from %s to %s", o.Wait, LeastWait, MostWait)
	}
	if o.Try < LeastWait || o.Try > MostTry {
		return core.Errorf(core.BadCall, "prolog-timeout: %s is not from %s to %s", o.Try, LeastWait, MostTry)
	}
	return core.CheckName("scheduler", o.Scheduler, core.MaxScheduler)
}

// files are what an installation has, and what it must not have, by path.
func (o Options) files() []plan.Change {
	all := []plan.Change{{Path: filepath.Join(o.System, outdated, "weft"), Gone: true}}
	for _, phase := range scriptlets {
		all = append(all, plan.Change{Path: filepath.Join(o.System, phase+".d", "weft"), Text: o.scriptlet(phase), Mode: 0o755})
	}
	return append(all, plan.Change{Path: filepath.Join(o.Shell, "weft.lua"), Text: o.plugin(), Mode: 0o644})
}

func (o Options) toml() plan.Change {
	return plan.Change{Path: filepath.Join(o.System, "conf.d", "weft.toml"), Text: plan.Sealed("#", o.lines()), Mode: 0o644}
}

// New plans an installation. The lines of Flux's configuration get a file of their own unless another has a table job-manager: Flux would take one of the two.
func New(o Options) (*Plan, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	p := &Plan{Lines: o.lines()}
	files := o.files()
	others, err := o.configured()
	if err != nil {
		return nil, err
	}
	if len(others) == 0 {
		files = append(files, o.toml())
	} else {
		p.ByHand = true
		p.Add(plan.Warning, "configuration", "bring the lines in there by hand, beside the lines there",
			"%s has job-manager already", strings.Join(others, ", "))
	}
	for _, phase := range scriptlets {
		if _, err := os.Stat(filepath.Join(o.System, phase)); err == nil {
			p.Add(plan.Refusal, "files", "move it into the folder", "%s: Flux runs this file in place of the folder %s.d", filepath.Join(o.System, phase), phase)
		}
	}
	if info, err := os.Stat(o.Hook); err != nil || info.Mode().Perm()&0o111 == 0 {
		p.Add(plan.Refusal, "files", "install it at that path on every node, or say with --weft-hook where it is", "%s: there is no such program on this host", o.Hook)
	}
	for _, f := range files {
		p.Own(f, plan.IsSealed)
	}
	return p, nil
}

// Removal plans to take out whatever an installation has put in.
func Removal(o Options) (*Plan, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	p := &Plan{}
	for _, f := range append(o.files(), o.toml()) {
		p.Own(plan.Change{Path: f.Path, Gone: true}, plan.IsSealed)
	}
	return p, nil
}

// configured are the files of Flux's configuration beside Weft's own that have a table job-manager.
func (o Options) configured() ([]string, error) {
	own := o.toml().Path
	files, err := filepath.Glob(filepath.Join(filepath.Dir(own), "*.toml"))
	if err != nil {
		return nil, core.Errorf(core.BadCall, "%s: %w", filepath.Dir(own), err)
	}
	var out []string
	for _, path := range files {
		if path == own {
			continue
		}
		text, err := file.Read(path, maxFile)
		if err != nil {
			return nil, core.Errorf(core.BadCall, "%s: %w", path, file.Bare(err))
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(strings.Trim(strings.TrimSpace(line), "["))
			if strings.HasPrefix(line, "job-manager") || strings.HasPrefix(line, `"job-manager`) {
				out = append(out, path)
				break
			}
		}
	}
	return out, nil
}
