package conformance

import (
	"slices"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// phases are what the adapter tells of its hooks; the case is skipped where no hook calls for it.
func (t *T) phases() []core.HookPhase {
	if t.Phased == nil {
		t.Skipf("weft-hook does not call for it")
	}
	all, err := t.Phased.Phases(t.ctx)
	t.unsupported("Phases", err)
	t.must(err, "Phases")
	if len(all) == 0 {
		t.Errorf("Phases: there are none, so weft-hook could call for nothing")
	}
	return all
}

// phaseCalls are one for each phase that the adapter tells.
func (t *T) phaseCalls() []core.HookCall {
	if t.Phased == nil {
		return nil
	}
	all, _ := t.Phased.Phases(t.ctx) // a case of their own says what is wrong with them
	calls := make([]core.HookCall, len(all))
	for i, p := range all {
		calls[i] = phaseCall(p)
	}
	return calls
}

// calls are hook calls to try: those that were given, and those of the phases. The case is skipped where there are none.
func (t *T) calls() []core.HookCall {
	calls := slices.Concat(t.Site.Calls, t.phaseCalls())
	if len(calls) == 0 {
		t.Skipf("it tells no phases, and no call of its scheduler is known here: only a test gives some (Site.Calls)")
	}
	return calls
}

// phaseCall is a call of a phase in which every variable that is read says 7: an id, a uid and a count can all be that.
func phaseCall(p core.HookPhase) core.HookCall {
	c := core.HookCall{ID: "weft-verify", Scheduler: "weft-verify", Phase: p.Name, Node: "n1", Began: 1, Env: map[string]string{}}
	for _, list := range [][]string{p.Variables, p.Job, p.Step} {
		for _, name := range list {
			c.Env[name] = "7"
		}
	}
	if !p.Root {
		c.Peer = core.Peer{UID: someone, GID: someone}
	}
	return c
}

// environmentCalls are those by which a task asks for its environment.
func (t *T) environmentCalls() []core.HookCall {
	var out []core.HookCall
	for _, c := range t.calls() {
		if got := t.parse(t.Hooks, c); got.err == nil && got.ask.Action == core.Environment {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		t.Skipf("no phase that asks for an environment is known here")
	}
	return out
}

// oddTexts are what no scheduler says, and what a user or a broken hook may.
var oddTexts = []string{
	"", " ", "-1", "0", "007", "18446744073709551616", "../../etc/passwd", "7/8", "7 8", "7\n8", "7\x00", "\xff\xfe", "--help", "$(reboot)", "{}", "[", "null",
	`{"job":7}`, `{"job":"../x"}`, `{"job":"n1.1","uid":-1}`, `{"job":"n1.1","uid":4294967295}`, strings.Repeat("9", 300), strings.Repeat("[", 100_000),
}

// oddCalls put oddTexts wherever a call has room.
func (t *T) oddCalls() []core.HookCall {
	some := slices.Concat([]core.HookCall{{Scheduler: "weft-verify", Phase: "weft-verify", Node: "n1"}, {}}, t.Site.Calls, t.phaseCalls())
	out := slices.Clone(some)
	for _, c := range some {
		for _, text := range oddTexts {
			each := copied(c)
			each.Args, each.Stdin = []string{text}, []byte(text)
			for name := range each.Env {
				each.Env[name] = text
			}
			out = append(out, each)
			for name := range c.Env { // one at a time: the others stay good
				one := copied(c)
				one.Env[name] = text
				out = append(out, one)
			}
		}
		none := copied(c)
		none.Env, none.Args, none.Stdin = nil, nil, nil
		nobody := copied(c)
		nobody.Peer = core.Peer{UID: core.NoUID, GID: core.NoUID}
		out = append(out, none, nobody)
	}
	return out
}

// log gives what the plugin logs from now on; the case is skipped where nobody can tell.
func (t *T) log() func() string {
	logged := t.Site.Logged
	if t.Process != nil {
		logged = t.Process.Logged
	}
	if logged == nil {
		t.Skipf("nobody shows what it logs (Site.Logged)")
	}
	before := len(logged())
	return func() string {
		all := logged()
		return all[min(before, len(all)):]
	}
}
