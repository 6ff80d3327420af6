package install

import (
	"context"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plan"
)

// The two hooks of PBS that share the hook file.
const (
	NodeHook   = "weft"
	ServerHook = "weft_server"
)

// The events of each. Those that refuse jobs inside pbs_server come with Options.Room.
const (
	NodeEvents   = "execjob_begin,execjob_launch,execjob_end,execjob_abort,exechost_startup,exechost_periodic"
	ObitEvent    = "jobobit"
	RoomEvent    = "runjob"
	TextEvent    = "queuejob" // and modifyjob
	ServerEvents = ObitEvent + "," + RoomEvent + ",modifyjob," + TextEvent
)

// order runs Weft's hooks after pbs_cgroups, whose order is 100.
const order = "200"

// Qmgr asks qmgr for what it prints of a directive; nil: it cannot be asked here.
type Qmgr func(ctx context.Context, directive string) ([]byte, error)

// Site is what qmgr says of a PBS server.
type Site struct {
	Hooks     map[string]map[string]string // by hook: its attributes
	Resources map[string]map[string]string // by resource
	Server    map[string]string
	Sched     map[string]string // of its schedulers; the last counts
	Scripts   map[string]string // of Weft's hooks, where qmgr shows them
}

// Ask reads a site.
func Ask(ctx context.Context, qmgr Qmgr) (*Site, error) {
	s := &Site{Hooks: map[string]map[string]string{}, Resources: map[string]map[string]string{}, Server: map[string]string{}, Sched: map[string]string{}, Scripts: map[string]string{}}
	for _, directive := range []string{"list hook", "list pbshook", "print resource", "print server", "print sched"} {
		text, err := qmgr(ctx, directive)
		if err != nil {
			if directive == "list pbshook" || directive == "print sched" { // not of every release
				continue
			}
			return nil, err
		}
		s.read(string(text))
	}
	if len(s.Hooks) == 0 {
		return nil, errHidden
	}
	for _, name := range []string{NodeHook, ServerHook} {
		if s.Hooks[name] == nil {
			continue
		}
		if text, err := qmgr(ctx, "export hook "+name+" application/x-python default"); err == nil {
			s.Scripts[name] = string(text)
		}
	}
	return s, nil
}

// errHidden is of a host where qmgr may not see hooks: it exits 0 and lists none, not even those that each PBS has
// (OpenPBS 23.06.06).
var errHidden = core.Errorf(core.NotAllowed, "qmgr: it lists no hook, not even PBS's own: "+
	"PBS shows hooks to root on pbs_server's host only").WithRemedy("run this as root on pbs_server's host")

// read takes qmgr's lines in: `Hook NAME` with indented `key = value` lines of `list hook`, and the directives of `print`.
func (s *Site) read(text string) {
	hook, last := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		key, value, assigned := strings.Cut(line, " = ")
		key = strings.TrimSpace(key)
		words := strings.Fields(key)
		switch {
		case strings.HasPrefix(line, "#") || len(words) == 0:
		case len(words) == 2 && words[0] == "Hook" && !assigned:
			hook = words[1]
			s.Hooks[hook] = map[string]string{}
		case len(words) == 1 && assigned && hook != "":
			last = key
			s.Hooks[hook][key] = unquote(value)
		case hook != "" && last != "" && strings.HasPrefix(line, "\t") && !assigned: // a long value goes on
			s.Hooks[hook][last] += unquote(line)
		case len(words) == 3 && words[0] == "create" && words[1] == "resource":
			s.Resources[words[2]] = map[string]string{}
		case len(words) == 4 && words[0] == "set" && words[1] == "resource" && assigned && s.Resources[words[2]] != nil:
			s.Resources[words[2]][words[3]] = unquote(value)
		case len(words) == 3 && words[0] == "set" && words[1] == "server" && assigned:
			s.Server[words[2]] = unquote(value)
		case len(words) == 3 && words[0] == "set" && words[1] == "sched" && assigned:
			s.Sched[words[2]] = unquote(value)
		}
	}
}

// Spins says why arrays may keep the scheduler from all other jobs; empty: they may not. A scheduler that waits for
// runjob's answer tries an array whose task is refused again and again, until sched_cycle_length (20 minutes) is over
// (main_sched_loop in fifo.cpp; seen in 23.06.06).
func (s *Site) Spins() string {
	if wait := s.Sched["job_run_wait"]; wait != "" && wait != "none" {
		return "job_run_wait = " + wait
	}
	return ""
}

// The remedy for Spins, and its consequence.
const (
	NoSpin = "qmgr -c 'set sched default job_run_wait = none'"
	Spin   = "PBS's scheduler tries an array whose task gets no VNI again and again, and starts no other job meanwhile"
)

func unquote(s string) string { return strings.Trim(strings.TrimSpace(s), `"`) }

// lines are the directives for qmgr that a site still needs; of a site that could not be asked, all. A hook that is there is imported anew: PBS keeps copies.
func (o Options) lines(s *Site) []string {
	var all []string
	for _, r := range o.Resources {
		if s == nil || s.Resources[r] == nil {
			all = append(all, "create resource "+r+" type = "+resourceType)
		}
	}
	for _, h := range []struct{ name, events, alarm string }{{NodeHook, NodeEvents, "30"}, {ServerHook, o.serverEvents(), "5"}} {
		set := func(key, value string) { all = append(all, "set hook "+h.name+" "+key+" = "+value) }
		if s == nil || s.Hooks[h.name] == nil {
			all = append(all, "create hook "+h.name)
		}
		set("enabled", "false")
		set("event", `"`+h.events+`"`)
		set("user", "pbsadmin")
		set("alarm", h.alarm)
		set("order", order)
		if h.name == NodeHook {
			set("fail_action", "offline_vnodes")
			set("freq", "120")
		}
		all = append(all, "import hook "+h.name+" application/x-config default "+o.path(configFile), "import hook "+h.name+" application/x-python default "+o.path(hookFile))
		set("enabled", "true")
	}
	return all
}

func (o Options) serverEvents() string {
	if o.Room {
		return ServerEvents
	}
	return ObitEvent
}

// removal are the directives that take everything out. A resource that a job names, be it one of the history, cannot go: those lines come last.
func (o Options) removal(s *Site) []string {
	var all []string
	for _, name := range []string{ServerHook, NodeHook} {
		if s == nil || s.Hooks[name] != nil {
			all = append(all, "delete hook "+name)
		}
	}
	for _, r := range o.Resources {
		if s == nil || s.Resources[r] != nil {
			all = append(all, "delete resource "+r)
		}
	}
	return all
}

// Foreign are those of Weft's hooks whose script is not that of this release: PBS has another release's, or a hand's.
func (s *Site) Foreign() (names []string) {
	for _, name := range []string{NodeHook, ServerHook} {
		if text, is := s.Scripts[name]; is && text != string(plan.Sealed("#", Script)) {
			names = append(names, name)
		}
	}
	return names
}
