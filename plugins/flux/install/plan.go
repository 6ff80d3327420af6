package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plan"
)

// Options say what is to be installed where. Paths are absolute.
type Options struct {
	System    string        // /etc/flux/system: folders of scriptlets and of configuration
	Shell     string        // /etc/flux/shell/lua.d
	Scheduler string        // the instance as the hooks name it
	Slurm     string        // the same for Slurm, for Flux instances that Slurm starts
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

// maxFile bounds a file that is read, in bytes.
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
	for _, label := range []string{o.Scheduler, o.Slurm} {
		if err := core.CheckName("scheduler", label, core.MaxScheduler); err != nil {
			return err
		}
	}
	return nil
}

// files are what an installation has, by path.
func (o Options) files() []plan.Change {
	all := make([]plan.Change, 0, len(scriptlets)+1)
	for _, phase := range scriptlets {
		all = append(all, plan.Change{Path: filepath.Join(o.System, phase+".d", "weft"), Text: o.scriptlet(phase), Mode: 0o755})
	}
	return append(all, plan.Change{Path: filepath.Join(o.Shell, "weft.lua"), Text: o.plugin(), Mode: 0o644})
}

func (o Options) toml() plan.Change {
	return plan.Change{Path: filepath.Join(o.System, "conf.d", "weft.toml"), Text: sealed("#", o.lines()), Mode: 0o644}
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
		p.Findings = append(p.Findings, plan.Finding{
			Level: plan.Warning, Setting: "configuration", What: strings.Join(others, ", ") + " has job-manager already",
			Remedy: "bring the lines in there by hand, beside the lines there",
		})
	}
	for _, phase := range scriptlets {
		if _, err := os.Stat(filepath.Join(o.System, phase)); err == nil {
			p.refuse("move it into the folder", "%s: Flux runs this file in place of the folder %s.d", filepath.Join(o.System, phase), phase)
		}
	}
	if info, err := os.Stat(o.Hook); err != nil || info.Mode().Perm()&0o111 == 0 {
		p.refuse("install it at that path on every node, or say with --weft-hook where it is", "%s: there is no such program on this host", o.Hook)
	}
	for _, f := range files {
		was, err := read(f.Path)
		if err != nil {
			return nil, err
		}
		if bytes.Equal(was, f.Text) {
			continue
		}
		p.taken(f.Path, was)
		f.Was = was
		p.Changes = append(p.Changes, f)
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
		was, err := read(f.Path)
		if err != nil {
			return nil, err
		}
		if ours, _ := isSealed(was); !ours {
			continue
		}
		p.taken(f.Path, was)
		p.Changes = append(p.Changes, plan.Change{Path: f.Path, Was: was, Gone: true})
	}
	return p, nil
}

// taken refuses to write over, or to remove, what somebody else wrote.
func (p *Plan) taken(path string, was []byte) {
	if ours, intact := isSealed(was); was != nil && !intact {
		what := "it is there and Weft did not write it"
		if ours {
			what = "it was edited by hand since Weft wrote it"
		}
		p.refuse("move it away if it can go", "%s: %s", path, what)
	}
}

func (p *Plan) refuse(remedy, format string, args ...any) {
	p.Findings = append(p.Findings, plan.Finding{
		Level: plan.Refusal, Setting: "files", What: fmt.Sprintf(format, args...), Remedy: remedy,
	})
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
		text, err := read(path)
		if err != nil {
			return nil, err
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

// read is a file's text; nil where there is none.
func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxFile) {
		err = errors.New("it is no file of a size that is read")
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path) //nolint:gosec // an administrator names it
	}
	if err != nil {
		return nil, core.Errorf(core.BadCall, "%s: %w", path, plan.Bare(err))
	}
	return append([]byte{}, text...), nil
}
