package node

import (
	"testing"

	"github.com/weft-hpc/weft/core"
)

// A node's fault ends once a job that began later has its services. A job that began before it proves nothing.
func TestFaultEnds(t *testing.T) {
	b := newBench(2)
	b.grant = func(r Reserve) (core.Grant, *core.Error) { return grantOf(r, 100+core.VNI(r.Ask.Key.Job[0])), nil }
	b.step(Linked{Up: true})
	b.hold = func(a Action) bool { c, ok := a.(Create); return ok && c.Run.Job == "1" }
	early := b.prepare(job("1", 0), 1000, 10)
	b.nics.devices[0].Fault = "x"
	b.wantErr(t, b.prepare(job("2", 0), 1000, 10), core.NICMissing)
	b.nics.devices[0].Fault = ""
	b.release()
	b.wantErr(t, early, "")
	if b.m.Drain().Reason == "" {
		t.Error("a job that began before the fault ended it")
	}
	b.wantErr(t, b.prepare(job("3", 0), 1000, 10), "")
	if why := b.m.Drain().Reason; why != "" {
		t.Errorf("a job was prepared since, and the node still has the fault %q", why)
	}
	b.nics.devices[0].Fault = "x"
	b.wantErr(t, b.prepare(job("4", 0), 1000, 10), core.NICMissing)
	if count[Drain](b) != 2 {
		t.Errorf("drained %d times", count[Drain](b))
	}
}

// The server's word ends a fault, and not one that the server cannot know yet.
func TestFaultEndsByTheServersWord(t *testing.T) {
	b := newBench(2)
	b.grant = func(r Reserve) (core.Grant, *core.Error) { return grantOf(r, 100), nil }
	b.step(Linked{Up: true})
	b.nics.devices[0].Fault = "x"
	b.wantErr(t, b.prepare(job("1", 0), 1000, 10), core.NICMissing)
	drain := core.Drain{Reason: b.m.Drain().Reason, Since: 7}
	b.step(Ordered{core.Orders{Drain: &drain}})
	if got := b.m.Drain(); got != drain {
		t.Errorf("the node is drained for %v, and the server says %v", got, drain)
	}
	b.step(Ordered{core.Orders{Drain: &core.Drain{}}})
	if got := b.m.Drain(); got != (core.Drain{}) {
		t.Errorf("resumed, and still drained for %v", got)
	}
	b.wantErr(t, b.prepare(job("2", 0), 1000, 10), core.NICMissing)
	if count[Drain](b) != 2 || b.m.Drain() == (core.Drain{}) {
		t.Errorf("the same fault after a resume drained %d times, %v", count[Drain](b), b.m.Drain())
	}
}
