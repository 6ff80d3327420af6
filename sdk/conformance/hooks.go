package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/weft-hpc/weft/core"
)

var hooksCases = []Case{
	{"Parse answers the same call with the same, in any order and in any instance, and leaves it as it is", "S1", OfHooks, func(t *T) {
		calls := t.calls()
		other := t.Another()
		first := make([]parsed, len(calls))
		for i, c := range calls {
			first[i] = t.parse(t.Hooks, c)
		}
		for i := range slices.Backward(calls) {
			for _, h := range []core.Hooks{t.Hooks, other.Hooks} {
				if again := t.parse(h, calls[i]); !again.equal(first[i]) {
					t.Errorf("%s: first %s, then %s", calling(calls[i]), first[i], again)
				}
			}
		}
	}},
	{"Parse understands the calls of its scheduler's hooks", "S1", OfHooks, func(t *T) {
		if len(t.Site.Calls) == 0 {
			t.Skipf("no call of its scheduler is known here: only a test gives some (Site.Calls)")
		}
		for _, c := range t.Site.Calls {
			if got := t.parse(t.Hooks, c); got.err != nil {
				t.Errorf("%s: %v", calling(c), got.err)
			}
		}
	}},
	{"Render answers the same outcome with the same, in any instance, and leaves it as it is", "S1", OfHooks, func(t *T) {
		other := t.Another()
		for _, c := range t.calls() {
			for _, o := range outcomes() {
				want := fmt.Sprint(o)
				first, err := t.Hooks.Render(t.ctx, c, o)
				for _, h := range []core.Hooks{t.Hooks, other.Hooks} {
					again, bad := h.Render(t.ctx, c, o)
					if !reflect.DeepEqual(plain(first), plain(again)) || (err == nil) != (bad == nil) {
						t.Errorf("%s of %v: first %q, then %q", calling(c), o.Action, first.Stdout, again.Stdout)
					}
				}
				if fmt.Sprint(o) != want {
					t.Errorf("%s: the outcome was changed", calling(c))
				}
			}
		}
	}},
	{"Parse and Render take calls at the same time", "C1", OfHooks, func(t *T) {
		calls := t.calls()
		var all sync.WaitGroup
		for _, c := range calls {
			want := t.parse(t.Hooks, c)
			t.beside(&all, func() {
				for range 10 {
					if again := t.parse(t.Hooks, c); !again.equal(want) {
						t.Errorf("%s: alone %s, among others %s", calling(c), want, again)
						return
					}
				}
			})
		}
		all.Wait()
	}},
	{"Parse takes any input: what it answers is a job that can be, and it never panics", "S9", OfHooks, func(t *T) {
		for _, c := range t.oddCalls() {
			got := t.parse(t.Hooks, c)
			if got.err != nil {
				if _, panicked := errors.AsType[*panicError](got.err); panicked {
					t.Errorf("%s: %v", calling(c), got.err)
				}
				continue
			}
			a := got.ask
			if a.Action < core.Prepare || a.Action > core.Room {
				t.Errorf("%s: action %d does not exist", calling(c), a.Action)
			}
			if a.Action != core.Running && a.Action != core.Room {
				if err := core.CheckJobID(a.Key.Job); err != nil {
					t.Errorf("%s: it answers %v", calling(c), err)
				}
			}
			if len(a.Note) > core.MaxNote {
				t.Errorf("%s: its note has %d bytes and there may be %d", calling(c), len(a.Note), core.MaxNote)
			}
		}
	}},
	{"a phase that it does not have is refused as invalid", "S9", OfHooks, func(t *T) {
		_, err := t.Hooks.Parse(t.ctx, core.HookCall{Scheduler: "weft-verify", Phase: "weft-verify", Node: "n1", Env: map[string]string{}})
		t.code("Parse", err, core.Invalid)
	}},
	{"each option that it lists has a name, a sentence and an example, which it takes", "S10", OfHooks, func(t *T) {
		for _, o := range t.options() {
			if len(o.Names) == 0 || o.Help == "" {
				t.Errorf("option %v: it has no name or no sentence", o.Names)
			}
			r, err := t.Parser.ParseRequest(t.ctx, []string{o.Example})
			if err != nil || o.Idle != (len(r.Warnings) > 0) {
				t.Errorf("option %v: its example %q: warnings %q, %v", o.Names, o.Example, r.Warnings, err)
			}
		}
	}},
	{"the same options are the same request, and an unknown one is refused as invalid", "S10", OfHooks, func(t *T) {
		options, other := t.options(), t.Another()
		for _, o := range options {
			first, _ := t.Parser.ParseRequest(t.ctx, []string{o.Example})
			again, err := other.Parser.ParseRequest(t.ctx, []string{o.Example})
			if !reflect.DeepEqual(first, again) {
				t.Errorf("option %q: first %+v, then %+v, %v", o.Example, first, again, err)
			}
		}
		_, err := t.Parser.ParseRequest(t.ctx, []string{"weft-verify-no-such-option=1"})
		t.code("ParseRequest", err, core.Invalid)
	}},
	{"its phases are told in full, with limits, and mean what Parse makes of them", "S5", OfHooks, func(t *T) {
		phases := t.phases()
		if again := t.phases(); !reflect.DeepEqual(phases, again) {
			t.Errorf("first %+v, then %+v", phases, again)
		}
		seen := map[string]bool{}
		for _, p := range phases {
			if p.Name == "" || seen[p.Name] {
				t.Errorf("phase %q: each has a name of its own", p.Name)
			}
			seen[p.Name] = true
			if p.Limit <= 0 {
				t.Errorf("phase %q: it has no limit", p.Name)
			}
			if p.Action < core.Prepare || p.Action > core.Room {
				t.Errorf("phase %q: action %d does not exist", p.Name, p.Action)
			}
			if got := t.parse(t.Hooks, phaseCall(p)); got.err == nil && got.ask.Action != p.Action {
				t.Errorf("phase %q: it is told as %v, and Parse makes %v of it", p.Name, p.Action, got.ask.Action)
			}
		}
		for _, c := range t.Site.Calls {
			if !seen[c.Phase] {
				t.Errorf("phase %q: its scheduler's hooks have it, and it is not told", c.Phase)
			}
		}
	}},
	{"an environment names every variable, those to set and those to unset", "S7", OfHooks, func(t *T) {
		vars := environment()
		for _, c := range t.environmentCalls() {
			reply, err := t.Hooks.Render(t.ctx, c, core.Outcome{Action: core.Environment, Key: aJob, Environment: vars})
			if err != nil || reply.Exit != 0 {
				t.Errorf("%s: exit %d, %v", calling(c), reply.Exit, err)
				continue
			}
			for _, v := range vars {
				if !bytes.Contains(reply.Stdout, []byte(v.Name)) || !bytes.Contains(reply.Stdout, []byte(v.Value)) {
					t.Errorf("%s: nothing is said of %s (unset: %v, value %q): a task would keep what it inherited", calling(c), v.Name, v.Unset, v.Value)
				}
			}
			set, err := t.Hooks.Render(t.ctx, c, core.Outcome{Action: core.Environment, Key: aJob, Environment: []core.Variable{{Name: "SLINGSHOT_VNIS"}}})
			unset, bad := t.Hooks.Render(t.ctx, c, core.Outcome{Action: core.Environment, Key: aJob, Environment: []core.Variable{{Name: "SLINGSHOT_VNIS", Unset: true}}})
			if err == nil && bad == nil && bytes.Equal(set.Stdout, unset.Stdout) {
				t.Errorf("%s: to set a variable to nothing and to unset it is the same to it: %q", calling(c), set.Stdout)
			}
		}
	}},
	{"no value of a variable becomes another variable", "S7", OfHooks, func(t *T) {
		for _, c := range t.environmentCalls() {
			for _, end := range []string{"\n", "\r\n", "\x00"} {
				vars := []core.Variable{{Name: "SLINGSHOT_VNIS", Value: "7" + end + "export WEFT_FORGED=1"}, {Name: "A" + end + "export WEFT_FORGED", Value: "1"}}
				for _, v := range vars {
					reply, err := t.Hooks.Render(t.ctx, c, core.Outcome{Action: core.Environment, Key: aJob, Environment: []core.Variable{v}})
					if err != nil || reply.Exit != 0 {
						continue
					}
					for line := range strings.Lines(string(reply.Stdout)) {
						if strings.HasPrefix(strings.TrimSpace(line), "export WEFT_FORGED") || strings.HasPrefix(strings.TrimSpace(line), "WEFT_FORGED") {
							t.Errorf("%s: %q became the line %q", calling(c), v.Value, line)
						}
					}
				}
			}
		}
	}},
	{"where a task's environment cannot be told, the hook fails and says why", "S8", OfHooks, func(t *T) {
		for _, c := range t.environmentCalls() {
			for _, r := range []core.Reason{core.PolicyDenied, core.NoRecord, core.PoolEmpty, core.NICFailed, core.ServerAway, core.InternalFault} {
				o := core.Outcome{Action: core.Environment, Key: aJob, Err: core.Errorf(r, "job 7: refused: weft-verify-why"), Environment: environment()}
				reply, err := t.Hooks.Render(t.ctx, c, o)
				if err != nil {
					continue // the agent then fails the hook itself
				}
				if reply.Exit == 0 {
					t.Errorf("%s: %s: it exits with 0, so the task would run without its isolation", calling(c), r)
				}
				if said := string(reply.Stdout) + string(reply.Stderr); !strings.Contains(said, "weft-verify-why") {
					t.Errorf("%s: %s: its user is not told why: %q", calling(c), r, said)
				}
			}
		}
	}},
	{"no secret of a job is in its log", "C7", OfHooks, func(t *T) {
		logged := t.log()
		const token = "weft-verify-secret-7f3a"
		vars := append(environment(), core.Variable{Name: "FI_CXI_COLL_MCAST_TOKEN", Value: token})
		for _, c := range t.calls() {
			_, _ = t.Hooks.Render(t.ctx, c, core.Outcome{Action: core.Environment, Key: aJob, Environment: vars})
			c.Stdin = append(slices.Clone(c.Stdin), token...)
			_, _ = t.Hooks.Parse(t.ctx, c)
		}
		if strings.Contains(logged(), token) {
			t.Errorf("the value of FI_CXI_COLL_MCAST_TOKEN is in its log")
		}
	}},
}

// aJob is one that no scheduler has.
var aJob = core.Key{JobID: core.JobID{Scheduler: "weft-verify", Job: "7"}}

// environment is what a job's tasks are told, with what the submitting shell carried.
func environment() []core.Variable {
	return []core.Variable{
		{Name: "FI_CXI_COLL_JOB_ID", Unset: true}, {Name: "FI_CXI_COLL_MCAST_TOKEN", Unset: true}, {Name: "SLINGSHOT_VNIS", Value: "4034,4035"},
		{Name: "SLINGSHOT_DEVICES", Value: "cxi0,cxi1"}, {Name: "SLINGSHOT_SVC_IDS", Value: "5,7"}, {Name: "SLINGSHOT_TCS", Value: "0xa"},
	}
}

func outcomes() []core.Outcome {
	denied := core.Errorf(core.PolicyDenied, "job 7: policy: it may not")
	return []core.Outcome{
		{Action: core.Prepare, Key: aJob, Warnings: []string{"cxi0: txqs: 3 of 12"}},
		{Action: core.Prepare, Key: aJob, Err: denied},
		{Action: core.Environment, Key: aJob, Environment: environment()},
		{Action: core.Environment, Key: aJob, Err: denied},
		{Action: core.CleanUp, Key: aJob, Pending: true},
	}
}

// plain takes nil and empty for the same.
func plain(r core.HookReply) [3]string {
	return [3]string{string(r.Stdout), string(r.Stderr), fmt.Sprint(r.Exit)}
}

// parsed is what came of a Parse.
type parsed struct {
	ask core.Intent
	err error
}

func (p parsed) equal(q parsed) bool {
	if p.err != nil || q.err != nil {
		return p.err != nil && q.err != nil && core.AsError(p.err).Reason == core.AsError(q.err).Reason
	}
	a, b := p.ask, q.ask
	same := bytes.Equal(a.Note, b.Note) && slices.Equal(a.Alive, b.Alive)
	a.Note, b.Note, a.Alive, b.Alive = nil, nil, nil, nil
	return same && reflect.DeepEqual(a, b)
}

func (p parsed) String() string {
	if p.err != nil {
		return p.err.Error()
	}
	return fmt.Sprintf("%v of %s by uid %d, note %q", p.ask.Action, p.ask.Key, p.ask.UID, core.Clip(string(p.ask.Note)))
}

// parse calls Parse with a copy of the call and sees that it leaves it alone.
func (t *T) parse(h core.Hooks, c core.HookCall) (out parsed) {
	given := copied(c)
	out.err = guarded("Parse", func() (err error) {
		out.ask, err = h.Parse(t.ctx, given)
		return err
	})
	if e := core.AsError(out.err); e != nil && e.Reason == core.InternalFault && strings.Contains(e.What, "panicked") {
		out.err = &panicError{out.err} // of a program
	}
	if !reflect.DeepEqual(given, copied(c)) {
		t.Errorf("%s: Parse changed the call that it was given", calling(c))
	}
	return out
}

func copied(c core.HookCall) core.HookCall {
	c.Args, c.Env, c.Stdin = slices.Clone(c.Args), maps.Clone(c.Env), bytes.Clone(c.Stdin)
	return c
}

func calling(c core.HookCall) string { return "phase " + core.Clip(fmt.Sprintf("%q", c.Phase)) }

// options are those of an adapter that reads them without a job.
func (t *T) options() []core.Option {
	if t.Parser == nil {
		t.Skipf("it has no ability %s", core.AbleOptions)
	}
	all, err := t.Parser.Options(t.ctx)
	t.must(err, "Options")
	return all
}
