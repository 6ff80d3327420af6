package node

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
)

// stepBench has a server that gives job 7 VNIs 20 and 21, and 22 and 23 for its steps.
func stepBench(draw func(step string) *core.Drawn) *bench {
	b := newBench(1)
	b.grant = func(r Reserve) (core.Grant, *core.Error) {
		key := r.Ask.Key
		key.Generation = 0
		r.Ask.Key = key
		g := grantOf(r, 20, 21, 22, 23)
		g.Steps = 2
		if r.Ask.Step != "" {
			g.Drawn = draw(r.Ask.Step)
		}
		return g, nil
	}
	return b
}

// step is the prepare of a step of job 7 by a process.
func (b *bench) stepHook(step string, pid int32) core.Outcome {
	b.call++
	ask := core.Intent{Action: core.Prepare, Key: job("7", core.AnyGeneration), UID: 1000, Began: 5, Step: step}
	ask.StepNodes, ask.Joins, ask.Tells = 1, true, true
	b.step(Hook{Call: b.call, Ask: ask, Until: b.now + 8*time.Second, Keeper: keeperOf(pid)})
	return b.replies[b.call]
}

func vnisOf(o core.Outcome) string {
	for _, v := range o.Environment {
		if v.Name == envVNIs {
			return v.Value
		}
	}
	return fmt.Sprint(o.Err)
}

// overs are the steps that the node has told as over, in order.
func (b *bench) overs() (out []string) {
	for _, t := range all[Tell](b) {
		for _, s := range t.Report.Steps {
			if s.Over {
				out = append(out, s.Step)
			}
		}
	}
	return out
}

func (b *bench) stepRecords() (n int) {
	for _, r := range b.books.all() {
		if _, is := r.(Step); is {
			n++
		}
	}
	return n
}

// TestAStepHasItsOwnVNIFirst: the node asks the server once a step. The job's tasks see no VNI of steps.
func TestAStepHasItsOwnVNIFirst(t *testing.T) {
	b := stepBench(func(step string) *core.Drawn {
		if step == "2" {
			return &core.Drawn{Warning: "it shares"}
		}
		return &core.Drawn{VNI: map[string]core.VNI{"0": 22, "1": 23}[step]}
	})
	for _, want := range []struct{ step, vnis string }{{"0", "22,21"}, {"1", "23,21"}, {"2", "20,21"}, {"1", "23,21"}} {
		if got := vnisOf(b.stepHook(want.step, 100)); got != want.vnis {
			t.Errorf("step %s has %s, not %s", want.step, got, want.vnis)
		}
	}
	if n := count[Reserve](b); n != 3 {
		t.Errorf("the server was asked %d times of three steps", n)
	}
	if got := b.stepHook("2", 100); !slices.Equal(got.StepWarnings, []string{"it shares"}) {
		t.Errorf("the step's warnings: %v", got.StepWarnings)
	}
	env := func(step string, uid uint32) string {
		c := b.hook(core.Intent{Action: core.Environment, Key: job("7", 0), Step: step}, uid)
		return vnisOf(b.replies[c])
	}
	if got := env("", 1000) + " " + env("1", 1000) + " " + env("9", 1000); got != "20,21 23,21 20,21" {
		t.Errorf("tasks have %s", got)
	}
	if s := b.ours(); len(s) != 1 || !slices.Equal(s[0].VNIs, []core.VNI{20, 21, 22, 23}) {
		t.Errorf("on the NICs: %+v", s)
	}
	if p := all[Publish](b)[0]; !p.Stepped || vnisOf(core.Outcome{Environment: p.Environment}) != "20,21" {
		t.Errorf("published: %+v", p)
	}
}

// TestAStepIsOverWithItsProcesses: the node says so until the server has it, through restarts, and lets nothing of it
// begin again. A process that asks for a step must live.
func TestAStepIsOverWithItsProcesses(t *testing.T) {
	b := stepBench(func(string) *core.Drawn { return &core.Drawn{VNI: 22} })
	link := func() {
		b.step(Linked{Up: true})
		b.pass(time.Second)
	}
	link()
	b.stepHook("0", 100)
	b.stepHook("0", 101) // another component of the het job
	b.stepHook("1", 102)
	b.step(KeeperGone{Keeper{PID: 100, Start: 2}}) // a later process with that pid
	b.step(KeeperGone{Keeper{PID: 100, Start: 1}})
	if got := b.overs(); len(got) > 0 {
		t.Fatalf("told as over: %v", got)
	}
	b.start() // a restart: the records say which processes
	link()
	b.step(KeeperGone{Keeper{PID: 100, Start: 1}})
	if got := len(b.m.Keepers()); got != 2 {
		t.Errorf("after a restart %d processes are known", got)
	}
	b.call++
	end := core.Intent{Action: core.StepEnd, Key: job("7", core.AnyGeneration), Step: "0"}
	b.step(Hook{Call: b.call, Ask: end, Keeper: Keeper{PID: 101, Start: 1}, Peer: core.Peer{UID: 1000}})
	if got := b.overs(); len(got) > 0 {
		t.Fatalf("a user ends a step: %v", got)
	}
	b.step(Hook{Call: b.call + 1, Ask: end, Keeper: Keeper{PID: 101, Start: 1}})
	b.call++
	if got := b.overs(); !slices.Equal(got, []string{"0"}) {
		t.Errorf("told as over: %v", got)
	}
	link()
	if got := b.overs(); !slices.Equal(got, []string{"0", "0"}) {
		t.Errorf("in the next session told as over: %v", got)
	}
	if got := b.stepHook("0", 103); got.Err == nil || got.Err.Reason != core.JobEnded {
		t.Errorf("a step that is over: %+v", got)
	}
	id := core.StepID{Run: b.m.Entries()[0].Grant.Run, Step: "0"}
	b.step(Ordered{core.Orders{Over: []core.StepID{id, {Run: id.Run, Step: "1"}}}})
	if n := b.stepRecords(); n != 1 {
		t.Errorf("%d records of steps are left, and one step lives", n)
	}
	if got := b.stepHook("5", 0); got.Err == nil || got.Err.Reason != core.JobEnded {
		t.Errorf("a step whose process is gone: %+v", got)
	}
	b.cleanUp(job("7", 0), 20)
	if n := b.stepRecords(); n != 0 {
		t.Errorf("%d records of steps are left after the job", n)
	}
}

// TestAStepThatEndsWhileTheServerIsAsked: the node tells its end behind the answer. Else the server would give it a VNI
// for good.
func TestAStepThatEndsWhileTheServerIsAsked(t *testing.T) {
	b := stepBench(func(string) *core.Drawn { return &core.Drawn{VNI: 22} })
	b.step(Linked{Up: true})
	b.pass(time.Second)
	b.stepHook("0", 100)
	b.hold = func(a Action) bool { _, is := a.(Reserve); return is }
	b.stepHook("1", 101)
	b.step(KeeperGone{Keeper{PID: 101, Start: 1}})
	if got := b.overs(); len(got) > 0 {
		t.Errorf("told as over before the server's answer: %v", got)
	}
	b.release()
	if got := b.overs(); !slices.Equal(got, []string{"1"}) {
		t.Errorf("told as over: %v", got)
	}
}

// TestAStepOfAnOldSession: a VNI that the server gave before the node's newest full report may be another step's.
func TestAStepOfAnOldSession(t *testing.T) {
	b := stepBench(func(string) *core.Drawn { return &core.Drawn{VNI: 22} })
	b.step(Linked{Up: true})
	b.pass(time.Second)
	b.stepHook("0", 100)
	b.hold = func(a Action) bool { _, is := a.(Reserve); return is }
	b.stepHook("1", 101)
	old := b.held[0].(Reserve)
	b.hold, b.held = nil, nil
	b.step(Linked{Up: true})
	b.pass(time.Second)
	n := count[Reserve](b)
	g, _ := b.grant(old)
	b.step(Reserved{old.Attempt, g, nil})
	if count[Reserve](b) != n+1 {
		t.Error("the answer of the old session counts")
	}
}

func keeperOf(pid int32) Keeper {
	if pid == 0 {
		return Keeper{}
	}
	return Keeper{PID: pid, Start: 1}
}
