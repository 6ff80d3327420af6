package node

import (
	"slices"
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

// A driver whose plugin has failed is not waited for, and the node gives that reason, also where it gave another.
func TestUnreadDriverIsDown(t *testing.T) {
	starting := core.Errorf(core.DriverAway, "driver cxi: its plugin is starting: exit status 1")
	down := core.Errorf(core.DriverAway, "driver cxi: %w", core.Down("its plugin is down: exit status 1"))
	b := newBench(1)
	b.step(Linked{Up: true})
	b.pass(time.Minute)
	for _, c := range []struct {
		fails  *core.Error
		lasts  time.Duration
		drains int    // so far
		fault  string // in the newest report
	}{
		{nil, 0, 0, ""},
		{down, 0, 1, down.Line()},
		{starting, 10 * time.Second, 1, down.Line()}, // it is tried again
		{core.Errorf(core.NICFailed, "cxi0: EIO"), 10 * time.Second, 2, "cxi0: EIO; " + core.NICFailed.Remedy()},
		{nil, 10 * time.Second, 2, ""},
		{starting, 10 * time.Second, 3, starting.Line()},
		{down, 0, 4, down.Line()},
	} {
		b.broken = c.fails
		b.step(Reread{})
		b.pass(c.lasts)
		want := c.fault
		if want != "" {
			want = core.UnreadPrefix + "node n1: " + want
		}
		if got := b.told(t).Fault; got != want || count[Drain](b) != c.drains {
			t.Errorf("while %v: drained %d times, of %d; reported %q", c.fails, count[Drain](b), c.drains, got)
		}
	}
}

// isLook reports whether an action reads the NICs.
func isLook(a Action) bool {
	_, look := a.(Look)
	return look
}

// told is the newest report with the NICs in it.
func (b *bench) told(t *testing.T) core.Report {
	t.Helper()
	for _, a := range slices.Backward(all[Tell](b)) {
		if a.Report.Full || a.Report.Changed {
			return a.Report
		}
	}
	t.Fatal("no report tells of the NICs")
	return core.Report{}
}

// A reading that has no answer counts as one that failed, for a job and for the node itself. A late answer heals, and a
// later reading.
func TestHang(t *testing.T) {
	hang := func(b *bench) { b.hold = isLook }
	answered := func(b *bench) { b.release() }
	for name, c := range map[string]struct {
		began func(*bench) // what begins the reading that hangs
		after time.Duration
		heal  func(*bench)
	}{
		"as the session begins": {func(b *bench) { hang(b); b.step(Linked{Up: true}) }, unreadAfter, answered},
		"before the session begins": {func(b *bench) {
			b.step(Linked{Up: true})
			hang(b)
			b.step(Reread{})
			b.step(Linked{})
			b.pass(time.Minute)
			b.step(Linked{Up: true})
		}, 0, answered},
		"as time passes": {func(b *bench) {
			b.step(Linked{Up: true})
			hang(b)
		}, DefaultConfig.Sweep + unreadAfter, answered},
		"for a job": {func(b *bench) {
			b.step(Linked{Up: true})
			hang(b)
			b.prepare(job("6", 0), 1000, 10)
		}, unreadAfter, answered},
		"the call ends with an error": {func(b *bench) {
			b.step(Linked{Up: true})
			hang(b)
			b.step(Reread{})
		}, unreadAfter, func(b *bench) {
			b.step(Read{Attempt: b.held[0].(Look).Attempt, Err: core.Errorf(core.TimedOut, "too late")})
			b.held, b.hold = nil, nil
			b.pass(backoffMost)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(2)
			b.pass(time.Second)
			c.began(b)
			if c.after > 0 {
				b.pass(c.after - time.Millisecond)
				if count[Drain](b) > 0 {
					t.Error("drained too early")
				}
				b.pass(time.Millisecond)
			}
			r := b.told(t)
			want := core.UnreadPrefix + "node n1: the NIC driver has not answered for "
			if !strings.HasPrefix(r.Fault, want) || len(r.Devices) > 0 {
				t.Errorf("reported %+v", r)
			}
			b.pass(20 * time.Second)
			if n := count[Drain](b); n != 1 {
				t.Errorf("drained %d times", n)
			}
			b.wantErr(t, b.prepare(job("7", 0), 1000, 10), core.DriverAway)
			if n := len(b.replies); n != int(b.call) {
				t.Errorf("%d of %d jobs have an answer", n, b.call)
			}
			c.heal(b)
			if r := b.told(t); r.Fault != "" || len(r.Devices) != 2 {
				t.Errorf("after the repair: %+v", r)
			}
			b.wantErr(t, b.prepare(job("8", 0), 1000, 20), "")
		})
	}
}

// A reading that ends late, because a NIC kept it waiting, is a failure too: a job's reading would wait as long.
func TestSlowAndFaulty(t *testing.T) {
	b := newBench(2)
	b.step(Linked{Up: true})
	b.hold = isLook
	b.step(Reread{})
	b.pass(10 * time.Second)
	b.nics.devices[1].Fault = "it did not answer"
	for range 3 {
		b.release()
		b.hold = isLook
		b.pass(10 * time.Second)
	}
	if r := b.told(t); r.Fault == "" || count[Drain](b) != 1 {
		t.Errorf("drained %d times; reported %+v", count[Drain](b), r)
	}
	b.nics.devices[1].Fault = ""
	b.release()
	if r := b.told(t); r.Fault != "" || len(r.Devices) != 2 || len(r.Blind) > 0 {
		t.Errorf("after the repair: %+v", r)
	}
}

// One call that hangs drains no node whose other readings succeed.
func TestOneHangs(t *testing.T) {
	b := newBench(2)
	b.step(Linked{Up: true})
	b.hold = func(a Action) bool { look, ok := a.(Look); return ok && look.Run != core.Run{} }
	b.prepare(job("7", 0), 1000, 10)
	b.step(Reread{})
	b.pass(time.Minute)
	if n := count[Drain](b); n != 0 {
		t.Errorf("drained %d times", n)
	}
}

// The server believes a reading that can be read again: it must show each unknown service, also those that a job's
// clean-up meanwhile makes doubtful.
func TestUnreadForgetsNothing(t *testing.T) {
	for name, restarts := range map[string]bool{"the agent lives on": false, "the agent starts anew": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(1)
			b.pass(time.Second)
			b.nics.services = append(b.nics.services, core.Service{Device: "cxi0", ID: 9, VNIs: []core.VNI{700}})
			b.step(Linked{Up: true})
			b.prepare(job("7", 0), 1000, 10)
			if n := len(b.told(t).Unknown); n != 1 {
				t.Fatalf("%d unknown services", n)
			}
			if restarts {
				b.start()
			}
			b.hold, b.log = isLook, nil
			b.step(Linked{})
			b.step(Linked{Up: true})
			b.pass(unreadAfter)
			if r := b.told(t); r.Fault == "" {
				t.Fatalf("reported %+v", r)
			}
			late := b.nics.reading(b.held[0].(Look).Attempt)
			b.held, b.hold = b.held[1:], nil
			b.cleanUp(job("7", 0), 20)
			b.step(late)
			for _, a := range all[Tell](b) {
				if r := a.Report; (r.Full || r.Changed) && r.Fault == "" && len(r.Unknown) != 1 {
					t.Errorf("told %+v", r)
				}
			}
			if r := b.told(t); r.Fault != "" || len(r.Unknown) != 1 {
				t.Errorf("at last: %+v", r)
			}
		})
	}
}

// A report about NICs that cannot be read says so, whatever else the node is drained for.
func TestUnreadComesFirst(t *testing.T) {
	b := newBench(1)
	b.hold = isLook
	b.step(Linked{Up: true})
	b.m.blame("NIC cxi0: broken")
	b.pass(time.Minute)
	if r := b.told(t); !strings.HasPrefix(r.Fault, core.UnreadPrefix) {
		t.Errorf("reported %+v", r)
	}
}

// TestCreateHangs: the NICs can be read and make nothing. The hook hears it before its limit has passed. The node is
// drained, also where the job's clean-up came meanwhile.
func TestCreateHangs(t *testing.T) {
	const why = "NIC cxi0,cxi1: cannot create service: no answer for 5s"
	for name, meanwhile := range map[string]func(*bench){
		"its hook waits":            func(*bench) {},
		"its clean-up comes before": func(b *bench) { b.cleanUp(job("7", 0), 20) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(2)
			b.step(Linked{Up: true})
			b.hold = func(a Action) bool { _, ok := a.(Create); return ok }
			c := b.prepare(job("7", 0), 1000, 10)
			b.pass(unreadAfter - time.Millisecond)
			meanwhile(b)
			if count[Drain](b) > 0 {
				t.Error("drained too early")
			}
			b.pass(time.Millisecond)
			b.pass(2 * time.Second)
			told := func(a Tell) bool { return strings.HasPrefix(a.Report.Fault, why) }
			if n := count[Drain](b); n != 1 || !slices.ContainsFunc(all[Tell](b), told) {
				t.Errorf("drained %d times; told %+v", n, all[Tell](b))
			}
			if err := b.replies[c].Err; err == nil || name == "its hook waits" && err.Scope() != core.ScopeNode {
				t.Errorf("its hook: %v", err)
			}
			b.pass(10 * time.Minute)
			if n := count[Drain](b); n != 1 {
				t.Errorf("drained %d times", n)
			}
			b.release()
			b.hold = nil
			b.wantPhases(t, Clean)
			if n := len(b.ours()); n != 0 {
				t.Errorf("%d services are left", n)
			}
			b.wantErr(t, b.prepare(job("8", 0), 1000, 20), "")
		})
	}
}
