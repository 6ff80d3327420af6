package rundir

import (
	"slices"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
)

// Hooks is how hooks of this node call: what RUNDIR/hooks.json holds. The server has such a folder too, for hooks that run beside it.
type Hooks struct {
	Node       string
	Schedulers []Scheduler
}

// Scheduler is one instance.
type Scheduler struct {
	Name   string // its label
	Type   string
	Phases []Phase
}

// Phase is a phase of an instance's hooks, and what is said in it while Weft is bypassed: nothing that a job's task must have, and no failure.
type Phase struct {
	core.HookPhase
	Bypass core.HookReply
	Away   *core.HookReply // what is said when nobody answers, where the site has chosen to run jobs all the same; nil: that is a failure

	// Observe says that the scheduler's jobs are only observed on this node: nothing fails, and a job without a record
	// gets Leave.
	Observe bool
	Leave   core.HookReply // what is said of a job that is only observed: its tasks stay as they are
}

// Bounds of hooks.json.
const (
	MaxHooks      = 1 << 20 // bytes
	MaxSchedulers = 256
	MaxPhases     = 64  // of a scheduler
	MaxVariables  = 256 // of a phase
	MaxVariable   = 128 // bytes of a variable's name
	MaxStdin      = 1 << 20
	MaxLimit      = time.Hour
)

// Find is the phase that a hook names, and the label of its scheduler, which may be named by its type while that is unique.
func (h Hooks) Find(scheduler, phase string) (string, Phase, error) {
	s, err := h.scheduler(scheduler)
	if err != nil {
		return "", Phase{}, err
	}
	var names []string
	for _, p := range s.Phases {
		if p.Name == phase {
			return s.Name, p, nil
		}
		names = append(names, p.Name)
	}
	return "", Phase{}, core.Errorf(core.BadCall, "phase %q: scheduler %s has none of that name", core.Clip(phase), s.Name).WithRemedy("use one of: " + strings.Join(names, ", "))
}

func (h Hooks) scheduler(name string) (Scheduler, error) {
	var typed []Scheduler
	var names []string
	for _, s := range h.Schedulers {
		if s.Name == name {
			return s, nil
		}
		if s.Type == name {
			typed = append(typed, s)
		}
		names = append(names, s.Name)
	}
	if len(typed) == 1 {
		return typed[0], nil
	}
	if len(typed) > 1 {
		names = names[:0]
		for _, s := range typed {
			names = append(names, s.Name)
		}
		return Scheduler{}, core.Errorf(core.BadCall, "scheduler %q: config.hcl of this node declares several of that type", core.Clip(name)).
			WithRemedy("name one of: " + strings.Join(names, ", "))
	}
	if len(names) == 0 {
		return Scheduler{}, core.Errorf(core.BadCall, "scheduler %q: config.hcl of this node declares no scheduler whose hooks can be called", core.Clip(name)).
			WithRemedy(`declare it there, as scheduler "TYPE" "NAME" { }, and restart the agent; jobs of a local scheduler are started by "weft run" and need no hook`)
	}
	return Scheduler{}, core.Errorf(core.BadCall, "scheduler %q: config.hcl of this node declares none of that name", core.Clip(name)).
		WithRemedy("name one of: " + strings.Join(names, ", "))
}

// check refuses what an agent must not write and weft-hook must not believe.
func (h Hooks) check() error {
	if len(h.Schedulers) > MaxSchedulers {
		return core.Errorf(core.BadConfig, "schedulers: there are %d and there may be %d", len(h.Schedulers), MaxSchedulers)
	}
	for i, s := range h.Schedulers {
		if err := core.CheckName("scheduler", s.Name, core.MaxScheduler); err != nil {
			return err
		}
		if err := core.CheckName("scheduler's type", s.Type, core.MaxScheduler); err != nil {
			return err
		}
		if slices.ContainsFunc(h.Schedulers[:i], func(o Scheduler) bool { return o.Name == s.Name }) {
			return core.Errorf(core.BadConfig, "scheduler %s: it is there twice", s.Name)
		}
		if len(s.Phases) > MaxPhases {
			return core.Errorf(core.BadConfig, "scheduler %s: it has %d phases and there may be %d", s.Name, len(s.Phases), MaxPhases)
		}
		for j, p := range s.Phases {
			if slices.ContainsFunc(s.Phases[:j], func(o Phase) bool { return o.Name == p.Name }) {
				return core.Errorf(core.BadConfig, "scheduler %s: phase %s: it is there twice", s.Name, p.Name)
			}
			if err := p.check(); err != nil {
				return core.Errorf(core.BadConfig, "scheduler %s: %w", s.Name, err)
			}
		}
	}
	return nil
}

func (p Phase) check() error {
	if err := core.CheckName("phase", p.Name, core.MaxScheduler); err != nil {
		return err
	}
	bad := func(format string, args ...any) error {
		return core.Errorf(core.BadConfig, "phase %s: "+format, append([]any{p.Name}, args...)...)
	}
	switch {
	case p.Action < core.Prepare || p.Action > core.Room:
		return bad("it has no action")
	case p.Limit < time.Millisecond || p.Limit > MaxLimit:
		return bad("its limit is %s, outside 1ms to %s", p.Limit, MaxLimit)
	case p.Stdin < 0 || p.Stdin > MaxStdin:
		return bad("it reads %d bytes of standard input, outside 0 to %d", p.Stdin, MaxStdin)
	case p.Bypass.Exit != 0:
		return bad("it would fail with %d while Weft is bypassed", p.Bypass.Exit)
	case p.Leave.Exit != 0:
		return bad("it would fail with %d for a job that is only observed", p.Leave.Exit)
	case p.Away != nil && p.Away.Exit != 0:
		return bad("it would fail with %d where it is to go by when nobody answers", p.Away.Exit)
	}
	for _, names := range [][]string{p.Variables, p.Job, p.Step, p.First, p.Asks} {
		if len(names) > MaxVariables {
			return bad("it names %d variables and there may be %d", len(names), MaxVariables)
		}
		for _, name := range names {
			if !variable(name) {
				return bad("%q is no variable's name", core.Clip(name))
			}
		}
	}
	return nil
}

// Leads reports whether a task with env is the first of its job, and nobody has told the job's warnings yet.
func (p Phase) Leads(env func(name string) (value string, set bool), job core.JobID) bool {
	if warned, _ := env(Warned); warned == job.Job {
		return false
	}
	for i, name := range p.First {
		if value, set := env(name); value != "0" && (set || i == 0) {
			return false
		}
	}
	return len(p.First) > 0
}

// variable reports whether name is one of an environment's variable, as POSIX has them.
func variable(name string) bool {
	if name == "" || len(name) > MaxVariable || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
}

// Hooks reads hooks.json. It is fs.ErrNotExist where there is none.
func (d Dir) Hooks() (Hooks, error) {
	path := d.path(hooksName)
	text, err := d.read(path, MaxHooks, checkOwner)
	if err != nil {
		return Hooks{}, err
	}
	h, err := ParseHooks(text)
	if err != nil {
		return Hooks{}, core.Errorf(core.AsError(err).Reason, "%s: %w", path, err).WithRemedy("restart the agent of this node: it writes the file anew")
	}
	return h, nil
}

// WriteHooks puts hooks.json in the stead of the one before.
func (d Dir) WriteHooks(h Hooks) error {
	text, err := h.Encode()
	if err != nil {
		return err
	}
	return d.put(core.BadConfig, d.path(hooksName), text)
}
