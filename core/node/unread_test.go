package node

import (
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
)

// A driver that cannot be read keeps no node from its session: the node says why, refuses jobs at once, and comes back
// by itself.
func TestUnread(t *testing.T) {
	b := newBench(2)
	b.broken = core.Errorf(core.DriverAway, "driver cxi: libcxi.so.1: no such file")
	b.step(Linked{Up: true})
	b.pass(4 * time.Second)
	if count[Tell](b) > 0 {
		t.Fatal("reported after 4 s, when the driver may only be starting")
	}
	waits := b.prepare(job("7", 0), 1000, 10)
	b.pass(7 * time.Second)
	if n := count[Drain](b); n != 1 {
		t.Errorf("drained %d times", n)
	}
	want := core.UnreadPrefix + "node n1: driver cxi: libcxi.so.1: no such file"
	first := all[Tell](b)[0].Report
	if !first.Full || len(first.Devices) > 0 || !strings.HasPrefix(first.Fault, want) {
		t.Errorf("reported %+v", first)
	}
	for _, c := range []uint64{waits, b.prepare(job("8", 0), 1000, 30)} {
		if err := b.wantErr(t, c, core.DriverAway); err.Scope() != core.ScopeNode || err.What != want {
			t.Errorf("refused with %v", err)
		}
	}

	b.log = nil
	b.step(Linked{})
	b.step(Linked{Up: true})
	if r := all[Tell](b)[0].Report; !r.Full || !strings.HasPrefix(r.Fault, want) {
		t.Errorf("the next session began with %+v", r)
	}

	b.broken = nil
	b.pass(backoffMost)
	told := all[Tell](b)
	if r := told[len(told)-1].Report; r.Fault != "" || !r.Changed || len(r.Devices) != 2 {
		t.Errorf("after the repair: %+v", r)
	}
	b.wantErr(t, b.prepare(job("9", 0), 1000, 40), "")
}
