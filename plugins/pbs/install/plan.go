package install

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plan"
)

// Resource is one by which users ask, as PBS has it.
type Resource struct{ Name, Type string }

// Options say what is to be installed where. Paths are absolute.
type Options struct {
	Dir       string // folder of the files, on pbs_server's host
	Scheduler string // the instance as the hooks name it: its label in config.hcl, or "pbs" while that is unique
	Hook      string // weft-hook, at the same path on every node and on pbs_server's host
	Agent     string // the agent's run directory; "": weft-hook's default
	Server    string // the run directory in which the Weft server listens for hooks
	Room      bool   // take part in runjob
	Resources []Resource
}

// Plan is what an installation, or its removal, finds and would change.
type Plan struct {
	plan.Plan
	Lines []string // for qmgr
}

func (p *Plan) add(level plan.Level, setting, mend, format string, args ...any) {
	p.Findings = append(p.Findings, plan.Finding{Level: level, Setting: setting, What: fmt.Sprintf(format, args...), Remedy: mend})
}

func (o Options) path(name string) string { return filepath.Join(o.Dir, name) }

func (o Options) check() error {
	for _, path := range []string{o.Dir, o.Hook, o.Agent, o.Server} {
		if path == "" && path != o.Dir && path != o.Hook {
			continue
		}
		if !filepath.IsAbs(path) || strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"'#\,`, r) }) {
			return core.Errorf(core.BadCall, "%q: it must be an absolute path, without blanks, commas and such, to stand in a line of qmgr", core.Clip(path))
		}
	}
	return core.CheckName("scheduler", o.Scheduler, core.MaxScheduler)
}

// New plans an installation; site is nil where qmgr could not be asked.
func New(o Options, site *Site) (*Plan, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	p := &Plan{Lines: o.lines(site)}
	names := make([]string, len(o.Resources))
	for i, r := range o.Resources {
		names[i] = r.Name
	}
	lines := "# For qmgr, as root on pbs_server's host: qmgr < " + o.path(linesFile) + "\n" + strings.Join(o.lines(nil), "\n") + "\n"
	for _, f := range []struct {
		name string
		text []byte
	}{
		{hookFile, sealed(Script)},
		{configFile, Config{Hook: o.Hook, Scheduler: o.Scheduler, Dir: o.Agent, ServerDir: o.Server, Resources: names}.text()},
		{linesFile, sealed(lines)},
	} {
		p.file(o.path(f.name), f.text)
	}
	o.judge(p, site)
	return p, nil
}

// Removal plans to take out whatever an installation has put in.
func Removal(o Options, site *Site) (*Plan, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	p := &Plan{Lines: o.removal(site)}
	for _, name := range []string{linesFile, configFile, hookFile} {
		p.file(o.path(name), nil)
	}
	return p, nil
}

// file plans one file; text is nil where it is to go.
func (p *Plan) file(path string, text []byte) {
	was, err := read(path)
	ours, intact := isOurs(path, was)
	switch {
	case err != nil:
		p.add(plan.Refusal, "files", "move it away if it can go", "%s: %v", path, err)
	case was == nil && text == nil, text != nil && bytes.Equal(was, text):
	case was != nil && !intact && ours:
		p.add(plan.Refusal, "files", "move it away if it can go", "%s: it was edited by hand since Weft wrote it", path)
	case was != nil && !ours && text != nil:
		p.add(plan.Refusal, "files", "move it away if it can go", "%s: it is there and Weft did not write it", path)
	case was != nil && !ours:
	default:
		p.Changes = append(p.Changes, plan.Change{
			Path: path, Text: text, Was: was, Mode: 0o644, Gone: text == nil, Own: text == nil,
			Brief: !strings.HasSuffix(path, ".json"),
		})
	}
}

// judge looks for what stands in the way.
func (o Options) judge(p *Plan, s *Site) {
	if info, err := os.Stat(o.Hook); err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		p.add(plan.Refusal, "weft-hook", "install it at that path on every node and on pbs_server's host, or say with --weft-hook where it is", "%s: there is no such program on this host", o.Hook)
	}
	for _, path := range []string{o.Hook, o.Dir} {
		if why := loose(path); why != "" {
			p.add(plan.Refusal, "files", "change its owner or mode, or take another place for it", "%s, which could change what PBS runs as root", why)
		}
	}
	if s == nil {
		p.add(plan.Warning, "qmgr", "run this as root on pbs_server's host, with --exec where PBS is not in /opt/pbs", "it cannot be asked here, so nothing is known of this site's PBS; all lines are shown")
		return
	}
	for _, name := range []string{NodeHook, ServerHook} {
		if h := s.Hooks[name]; h != nil && !ownEvents(h["event"]) {
			p.add(plan.Refusal, "hook "+name, "rename the site's own hook", "there is one of that name for other events: %s", h["event"])
		}
	}
	for name, h := range s.Hooks {
		n, err := strconv.Atoi(h["order"])
		ours, _ := strconv.Atoi(order)
		if name != NodeHook && name != ServerHook && err == nil && n > ours && h["enabled"] != "false" && strings.Contains(h["event"], "execjob_begin") {
			p.add(plan.Warning, "hook "+name, "set hook "+NodeHook+" order = a number above "+h["order"], "it runs after Weft's in execjob_begin: where it rejects, what Weft has made is removed again")
		}
	}
	for _, r := range o.Resources {
		if have := s.Resources[r.Name]; have != nil && have["type"] != "" && have["type"] != r.Type {
			p.add(plan.Warning, "resource "+r.Name, "delete it and create it anew while no job names it", "it has type %s, and Weft's is %s", have["type"], r.Type)
		}
	}
	if s.Server["job_history_enable"] != "True" {
		p.add(plan.Warning, "job_history_enable", "set server job_history_enable = True", "PBS forgets a job when it ends, and with it the comment that says why Weft could not let it run")
	}
	if !o.Room {
		p.add(plan.Warning, "runjob", "leave --no-room out", "without it a job that finds no free VNI is tried 21 times within seconds and then held by PBS")
	}
	if len(p.Findings) == 0 {
		p.add(plan.Fine, "qmgr", "", "nothing stands in the way")
	}
}

// ownEvents reports whether a hook's events are among Weft's.
func ownEvents(events string) bool {
	for e := range strings.SplitSeq(events, ",") {
		if e = strings.TrimSpace(e); e != "" && !strings.Contains(NodeEvents+","+ObitEvent+","+RoomEvent, e) {
			return false
		}
	}
	return true
}

// loose says who else could change a path; "" where nobody. One that is not there yet counts by its folder.
func loose(path string) string {
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err == nil {
			st, ok := info.Sys().(*syscall.Stat_t)
			mode := info.Mode()
			switch {
			case ok && st.Uid != 0 && int64(st.Uid) != int64(os.Geteuid()):
				return fmt.Sprintf("%s belongs to uid %d", at, st.Uid)
			case mode.Perm()&0o022 != 0 && (!mode.IsDir() || mode&os.ModeSticky == 0):
				return fmt.Sprintf("%s has mode %04o", at, mode.Perm())
			}
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}
