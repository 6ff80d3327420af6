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
	if b.m.Fault() == "" {
		t.Error("a job that began before the fault ended it")
	}
	b.wantErr(t, b.prepare(job("3", 0), 1000, 10), "")
	if why := b.m.Fault(); why != "" {
		t.Errorf("a job was prepared since, and the node still has the fault %q", why)
	}
	b.nics.devices[0].Fault = "x"
	b.wantErr(t, b.prepare(job("4", 0), 1000, 10), core.NICMissing)
	if count[Drain](b) != 2 {
		t.Errorf("drained %d times", count[Drain](b))
	}
}
