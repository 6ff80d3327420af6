package node

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
)

// signed gives each NIC the sign of a probe.
func (f *nics) signed(inode uint64) (signs []core.Sign) {
	for i := range f.devices {
		f.devices[i].Sign = core.Sign{Path: "/nics/" + f.devices[i].Name, Inode: inode}
		signs = append(signs, f.devices[i].Sign)
	}
	return signs
}

// TestTaskInDoubt: a reading that begins after a task asked decides the answer. Without one the task fails.
func TestTaskInDoubt(t *testing.T) {
	for name, c := range map[string]struct {
		before func(b *bench) // the task asks
		after  func(b *bench)
		says   string // to the task; empty: it gets its environment
	}{
		"its services are gone": {func(b *bench) { b.nics.probe("2") }, nil, "or its driver was loaded again"},
		"its services stand":    {nil, nil, ""},
		"the NICs cannot be read": {func(b *bench) {
			b.broken = core.Errorf(core.NICMissing, "no driver")
		}, nil, "left: no driver"},
		"the driver hangs": {func(b *bench) { b.hold = isLook }, func(b *bench) {
			if b.pass(7 * time.Second); len(b.replies) != 1 {
				t.Error("the task is answered before anything was read")
			}
			b.pass(time.Second)
		}, "the NIC driver has not answered"},
		"a reading of before is under way": {func(b *bench) {
			b.hold = isLook
			b.step(Reread{})
		}, func(b *bench) {
			old := b.nics.reading(b.held[0].(Look).Attempt)
			b.held = nil
			if b.step(old); len(b.replies) != 1 {
				t.Error("a reading of before decides")
			}
			b.nics.probe("2")
			b.release()
		}, "or its driver was loaded again"},
		"another job's reading shows it": {func(b *bench) {
			b.nics.probe("2")
			b.hold = isLook
		}, func(b *bench) {
			b.hold = func(a Action) bool { look, ok := a.(Look); return ok && look.Run == (core.Run{}) }
			b.prepare(job("8", 0), 1000, 20)
		}, "or its driver was loaded again"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(2)
			b.nics.probe("1")
			b.step(Linked{Up: true})
			b.wantErr(t, b.prepare(job("7", 0), 1000, 10), "")
			if c.before != nil {
				c.before(b)
			}
			call := b.call + 100
			ask := core.Intent{Action: core.Environment, Key: job("7", 0)}
			b.step(Hook{Call: call, Ask: ask, Peer: core.Peer{UID: 1000}, Until: b.now + 8*time.Second, Doubt: true})
			if c.after != nil {
				c.after(b)
			}
			out, answered := b.replies[call]
			switch {
			case !answered:
				t.Error("the task is not answered")
			case c.says == "" && (out.Err != nil || len(out.Environment) == 0):
				t.Errorf("the task is told %v, %v", out.Environment, out.Err)
			case c.says != "" && (out.Err == nil || !strings.Contains(out.Err.What, c.says)):
				t.Errorf("the task is told %v, want %q", out.Err, c.says)
			}
		})
	}
}

// TestSigns: those of the newest reading count, and before the first one those of the records.
func TestSigns(t *testing.T) {
	b := newBench(2)
	first := b.nics.signed(1)
	b.wantErr(t, b.prepare(job("7", 0), 1000, 10), "")
	if diff := cmp.Diff(first, all[Publish](b)[0].Signs); diff != "" {
		t.Error("in the job's file:", diff)
	}
	second := b.nics.signed(2)
	b.start()
	if diff := cmp.Diff(first, b.m.Signs()); diff != "" {
		t.Error("nothing is read yet:", diff)
	}
	b.step(Linked{Up: true})
	if diff := cmp.Diff(second, b.m.Signs()); diff != "" {
		t.Error("after a reading:", diff)
	}
}
