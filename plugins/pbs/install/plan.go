package install

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
	"github.com/weft-hpc/weft/plan"
)

// resourceType is that of all resources by which users ask. PBS reads the value of another type itself, and where a hook
// sees the job it drops one that it cannot read, without a word (23.06.06: long, boolean).
const resourceType = "string"

// Options say what is to be installed where. Paths are absolute.
type Options struct {
	Dir       string // folder of the files, on pbs_server's host
	Scheduler string // the instance as the hooks name it: its label in config.hcl, or "pbs" while that is unique
	Hook      string // weft-hook, at the same path on every node and on pbs_server's host
	Agent     string // the agent's run directory; "": weft-hook's default
	Server    string // the run directory in which the Weft server listens for hooks
	Room      bool   // take part in runjob, queuejob and modifyjob
	Resources []string
}

// Plan is what an installation, or its removal, finds and would change.
type Plan struct {
	plan.Plan
	Lines []string // for qmgr
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
	for _, c := range o.files() {
		p.own(c)
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
	for _, c := range o.files() {
		c.Text, c.Gone, c.Own = nil, true, true
		p.own(c)
	}
	return p, nil
}

// own plans one of Weft's files.
func (p *Plan) own(c plan.Change) {
	sealed := plan.IsSealed
	if !c.Brief {
		sealed = isSealedConfig
	}
	p.Own(c, sealed)
}

// judge looks for what stands in the way.
func (o Options) judge(p *Plan, s *Site) {
	if !file.Runs(o.Hook) {
		p.Add(plan.Refusal, "weft-hook", "install it at that path on every node and on pbs_server's host, or say with --weft-hook where it is", "%s: there is no such program on this host", o.Hook)
	}
	for _, path := range []string{o.Hook, o.Dir} {
		if d := file.Trust(path); d != nil {
			p.Add(plan.Refusal, "files", d.Remedy, "%v, and PBS runs as root what is there", d)
		}
	}
	if s == nil {
		p.Add(plan.Warning, "qmgr", "run this as root on pbs_server's host, with --exec where PBS is not in /opt/pbs", "it cannot be asked here, so nothing is known of this site's PBS; all lines are shown")
		return
	}
	for name, own := range map[string]string{NodeHook: NodeEvents, ServerHook: ServerEvents} {
		if h := s.Hooks[name]; h != nil && !among(h["event"], own) {
			p.Add(plan.Refusal, "hook "+name, "rename the site's own hook", "there is one of that name for other events: %s", h["event"])
		}
	}
	for name, h := range s.Hooks {
		n, err := strconv.Atoi(h["order"])
		ours, _ := strconv.Atoi(order)
		if name != NodeHook && name != ServerHook && err == nil && n > ours && h["enabled"] != "false" && strings.Contains(h["event"], "execjob_begin") {
			p.Add(plan.Warning, "hook "+name, "set hook "+NodeHook+" order = a number above "+h["order"], "it runs after Weft's in execjob_begin: where it rejects, what Weft has made is removed again")
		}
	}
	for _, r := range o.Resources {
		if have := s.Resources[r]; have != nil && have["type"] != "" && have["type"] != resourceType {
			p.Add(plan.Warning, "resource "+r, "delete it and create it again while no job names it",
				"it has type %s, and Weft's is %s: PBS drops a value that is none of its type, without a word", have["type"], resourceType)
		}
	}
	if s.Server["job_history_enable"] != "True" {
		p.Add(plan.Warning, "job_history_enable", "set server job_history_enable = True", "PBS forgets a job when it ends, and with it the comment that says why Weft could not let it run")
	}
	if spins := s.Spins(); o.Room && spins != "" {
		p.Add(plan.Warning, "scheduler", NoSpin, "%s: %s", spins, Spin)
	}
	if !o.Room {
		p.Add(plan.Warning, "runjob", "leave --no-room out", "without it a job that finds no free VNI is tried 21 times within seconds and then held by PBS")
	}
	if len(p.Findings) == 0 {
		p.Add(plan.Fine, "qmgr", "", "nothing stands in the way")
	}
}

// among reports whether a hook's events are among Weft's own.
func among(events, own string) bool {
	for e := range strings.SplitSeq(events, ",") {
		if e = strings.TrimSpace(e); e != "" && !strings.Contains(own, e) {
			return false
		}
	}
	return true
}
