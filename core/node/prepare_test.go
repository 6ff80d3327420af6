package node

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weft-hpc/weft/core"
)

func TestPrepareThenCleanUp(t *testing.T) {
	b := newBench(2)
	c := b.prepare(job("7", 0), 1000, 10)
	got := b.replies[c]
	want := []core.Variable{
		{Name: "WEFT_FROM", Unset: true},
		{Name: "WEFT_JOB", Unset: true},
		{Name: "WEFT_NODE", Unset: true},
		{Name: "FI_CXI_COLL_JOB_ID", Unset: true},
		{Name: "FI_CXI_COLL_JOB_STEP_ID", Unset: true},
		{Name: "FI_CXI_COLL_MCAST_TOKEN", Unset: true},
		{Name: "FI_CXI_COLL_FABRIC_MGR_URL", Unset: true},
		{Name: "FI_CXI_HWCOLL_ADDRS_PER_JOB", Unset: true},
		{Name: "FI_CXI_HWCOLL_MIN_NODES", Unset: true},
		{Name: "SLINGSHOT_VNIS", Value: "4034"},
		{Name: "SLINGSHOT_DEVICES", Value: "cxi0,cxi1"},
		{Name: "SLINGSHOT_SVC_IDS", Value: "3,3"},
		{Name: "SLINGSHOT_TCS", Value: "0x8"},
	}
	if got.Err != nil {
		t.Fatalf("prepare: %v", got.Err)
	}
	if d := cmp.Diff(want, got.Environment); d != "" {
		t.Errorf("environment (-want +got):\n%s", d)
	}
	if n := len(b.ours()); n != 2 {
		t.Errorf("%d services on the NICs, want 2", n)
	}
	c = b.cleanUp(job("7", 1), 20) // Slurm's Epilog shows the next count
	if got := b.replies[c]; got.Err != nil || got.Pending {
		t.Errorf("clean-up: %+v", got)
	}
	b.wantPhases(t, Clean)
	if count[Publish](b) != 1 || count[Withdraw](b) != 1 {
		t.Errorf("published %d times, withdrawn %d times", count[Publish](b), count[Withdraw](b))
	}
	if b.replies[b.cleanUp(job("8", 0), 20)].Err != nil {
		t.Errorf("a clean-up of what was never here must be fine: salloc without a step has one")
	}
}

// wantPhases checks the phases of all runs, and that the NICs hold services only of those that may have any.
func (b *bench) wantPhases(t *testing.T, want ...State) {
	t.Helper()
	var got []State
	none := true
	for _, e := range b.m.Entries() {
		got = append(got, e.State)
		none = none && (e.State == Clean || e.State == Asking)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("phases (-want +got):\n%s", d)
	}
	if none && len(b.ours()) > 0 {
		t.Errorf("left on the NICs: %+v", b.ours())
	}
}

func (b *bench) wantErr(t *testing.T, call uint64, want core.Reason) *core.Error {
	t.Helper()
	o, answered := b.replies[call]
	switch {
	case !answered:
		t.Errorf("call %d has no answer, want %q", call, want)
	case want == "" && o.Err != nil:
		t.Errorf("call %d: %v (%s)", call, o.Err, o.Err.Reason)
	case want != "" && (o.Err == nil || o.Err.Reason != want):
		t.Errorf("call %d: %v, want reason %q", call, o.Err, want)
	}
	return o.Err
}

func TestWhoMayPrepare(t *testing.T) {
	local := core.Key{JobID: core.JobID{Scheduler: "local", Job: "n1.1"}}
	for _, test := range []struct {
		name        string
		key         core.Key
		owner, peer uint32
		prepare     core.Reason
		cleanUp     core.Reason
	}{
		{"root for a user", job("7", 0), 1000, 0, "", ""},
		{"root for root", job("7", 0), 0, 0, "", ""},
		{"root for nobody", job("7", 0), core.NoUID, 0, core.BadCall, ""},
		{"a user for himself", job("7", 0), 1000, 1000, core.NotAllowed, core.NotAllowed},
		{"a user for himself, on a local instance", local, 1000, 1000, "", ""},
		{"a user for another, on a local instance", local, 1000, 1001, core.NotAllowed, ""},
		{"a user for root, on a local instance", local, 0, 1001, core.NotAllowed, ""},
		{"an id that is a path", job("../7", 0), 1000, 0, core.BadCall, core.BadCall},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(1)
			b.wantErr(t, b.hook(core.Intent{Action: core.Prepare, Key: test.key, UID: test.owner, Began: 5}, test.peer), test.prepare)
			if test.prepare != "" && (count[Reserve](b) > 0 || len(b.m.Entries()) > 0) {
				t.Errorf("something came of it: %+v", b.log)
			}
			b.wantErr(t, b.hook(core.Intent{Action: core.CleanUp, Key: test.key, Began: 9}, test.peer), test.cleanUp)
		})
	}
	b := newBench(1)
	b.hook(core.Intent{Action: core.Prepare, Key: local, UID: 1000, Began: 5}, 1000)
	b.wantErr(t, b.hook(core.Intent{Action: core.CleanUp, Key: local, Began: 9}, 1001), core.NotAllowed)
	b.wantPhases(t, Ready)
	b = newBench(1)
	b.wantErr(t, b.hook(core.Intent{Action: core.CleanUp, Key: local, Began: 1 << 60}, 1001), "")
	if b.wantErr(t, b.hook(core.Intent{Action: core.Prepare, Key: local, UID: 1000, Began: 5}, 1000), ""); len(b.m.Entries()) != 1 {
		t.Errorf("a user's clean-up of a job that is not here kept its owner from preparing it")
	}
}

func TestPrepareAfterCleanUp(t *testing.T) {
	for _, test := range []struct {
		name    string
		cleanUp int64
		prepare int64
		want    core.Reason
	}{
		{"late", 20, 10, core.JobEnded},
		{"at once", 20, 20, core.JobEnded},
		{"newer", 20, 21, ""},
		{"clean-up of unknown time", 0, 10, ""},
		{"prepare of unknown time", 20, 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(1)
			b.cleanUp(job("7", 1), test.cleanUp)
			b.wantErr(t, b.prepare(job("7", 0), 1000, test.prepare), test.want)
		})
	}
}

// Clean-ups and prepares of a run may come in any order: a clean-up counts for what began before it, and for nothing else.
func TestOrderOfStamps(t *testing.T) {
	type hook struct {
		cleanUp bool
		began   int64
	}
	for name, test := range map[string]struct {
		hooks []hook
		want  core.Reason // of a prepare that began at 25
		ready bool        // the run, after that
	}{
		"an older clean-up comes last":    {[]hook{{true, 30}, {true, 10}}, core.JobEnded, false},
		"a newer clean-up comes last":     {[]hook{{true, 10}, {true, 20}}, "", true},
		"a prepare comes after its end":   {[]hook{{false, 10}, {true, 30}}, core.JobEnded, false},
		"a clean-up of the run before":    {[]hook{{false, 10}, {false, 30}, {true, 20}}, "", true},
		"and with a later prepare before": {[]hook{{false, 30}, {false, 10}, {true, 20}}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(1)
			for _, h := range test.hooks {
				if h.cleanUp {
					b.cleanUp(job("7", 0), h.began)
				} else {
					b.wantErr(t, b.prepare(job("7", 0), 1000, h.began), "")
				}
			}
			b.wantErr(t, b.prepare(job("7", 0), 1000, 25), test.want)
			if ready := len(b.ours()) == 1; ready != test.ready {
				t.Errorf("the run stands: %v, want %v", ready, test.ready)
			}
		})
	}
}

// A prepare that is cancelled while the server is asked takes nobody with it who comes after the clean-up.
func TestPrepareAfterACancelledOne(t *testing.T) {
	b := newBench(1)
	b.hold = func(a Action) bool { _, ok := a.(Reserve); return ok }
	b.prepare(job("7", 0), 1000, 10)
	b.cleanUp(job("7", 0), 20)
	submitted := int64(1)
	b.grant = func(r Reserve) (core.Grant, *core.Error) {
		submitted++
		g := grantOf(r, 100+core.VNI(submitted))
		g.Submitted = submitted
		return g, nil
	}
	c := b.prepare(job("7", 0), 1000, 30)
	b.release()
	b.wantErr(t, c, "")
	b.wantPhases(t, Clean, Ready)
}

// A doubled or late Epilog does not kill a newer run.
func TestCleanUpOfAnOlderRun(t *testing.T) {
	b := newBench(1)
	b.grant = func(r Reserve) (core.Grant, *core.Error) { return grantOf(r, 100+core.VNI(r.Ask.Key.Generation)), nil }
	b.prepare(job("7", 0), 1000, 10)
	b.prepare(job("7", 1), 1000, 30)
	b.wantErr(t, b.cleanUp(job("7", 1), 20), "")
	b.wantPhases(t, Clean, Ready)
	b.wantErr(t, b.cleanUp(job("7", 9), 40), "")
	b.wantPhases(t, Clean, Clean)
}

func TestPrepareAgain(t *testing.T) {
	b := newBench(1)
	submitted := int64(1)
	vni := core.VNI(100)
	b.grant = func(r Reserve) (core.Grant, *core.Error) {
		g := grantOf(r, vni)
		g.Submitted = submitted
		return g, nil
	}
	first := b.prepare(job("7", 0), 1000, 10)
	again := b.prepare(job("7", 0), 1000, 10)
	if b.wantErr(t, again, ""); count[Reserve](b) != 1 || !cmp.Equal(b.replies[first].Environment, b.replies[again].Environment) {
		t.Errorf("a hook that tries again gets %+v after %d questions", b.replies[again], count[Reserve](b))
	}
	again = b.prepare(job("7", 0), 1000, 20)
	if b.wantErr(t, again, ""); count[Reserve](b) != 2 || count[Create](b) != 1 || !cmp.Equal(b.replies[first].Environment, b.replies[again].Environment) {
		t.Errorf("another hook of the same run gets %+v after %d questions", b.replies[again], count[Reserve](b))
	}
	b.wantPhases(t, Ready)
	submitted, vni = 2, 101 // the cluster was rebuilt, and its ids begin anew
	b.wantErr(t, b.prepare(job("7", 0), 1000, 30), "")
	b.wantPhases(t, Clean, Ready)
	if s := b.ours(); len(s) != 1 || s[0].VNIs[0] != 101 {
		t.Errorf("on the NIC: %+v", s)
	}
	submitted, vni = 1, 100
	b.wantErr(t, b.prepare(job("7", 0), 1000, 40), core.JobEnded)
	b.wantPhases(t, Clean, Ready)
}

func TestPreparesShareOneQuestion(t *testing.T) {
	b := newBench(1)
	b.cfg.MaxWaiters, b.cfg.MaxRuns = 2, 1
	b.start()
	b.hold = func(a Action) bool { _, ok := a.(Reserve); return ok }
	one, two, three := b.prepare(job("7", 0), 1000, 10), b.prepare(job("7", 0), 1000, 11), b.prepare(job("7", 0), 1000, 12)
	b.wantErr(t, three, core.Overloaded)
	b.wantErr(t, b.prepare(job("8", 0), 1000, 12), core.Overloaded)
	b.release()
	b.wantErr(t, one, "")
	b.wantErr(t, two, "")
	if count[Reserve](b) != 1 {
		t.Errorf("%d questions", count[Reserve](b))
	}
}

func TestPrepareTimeLimit(t *testing.T) {
	b := newBench(1)
	b.call++
	b.step(Hook{Call: b.call, Ask: core.Intent{Action: core.Prepare, Key: job("6", 0), UID: 1000}})
	b.wantErr(t, b.call, core.TimedOut)
	if len(b.m.Entries()) > 0 {
		t.Errorf("what has no time left was begun")
	}
	b.hold = func(a Action) bool { _, ok := a.(Reserve); return ok }
	c := b.prepare(job("7", 0), 1000, 10)
	b.pass(7 * time.Second)
	if _, answered := b.replies[c]; answered {
		t.Errorf("answered early")
	}
	b.pass(time.Second)
	b.wantErr(t, c, core.TimedOut)
	later := b.prepare(job("7", 0), 1000, 10) // the hook tries again and finds it under way
	b.release()
	b.wantErr(t, later, "")
	b.wantPhases(t, Ready)
}

// A hook that waits longer than the one that asked is not failed with it.
func TestReserveIsRepeatedForWhoWaitsLonger(t *testing.T) {
	b := newBench(1)
	b.hold = func(a Action) bool { _, ok := a.(Reserve); return ok }
	one := b.prepare(job("7", 0), 1000, 10)
	b.pass(5 * time.Second)
	two := b.prepare(job("7", 0), 1000, 11)
	b.pass(3 * time.Second)
	b.step(Reserved{Attempt: b.held[0].(Reserve).Attempt, Err: core.Errorf(core.TimedOut, "no answer")})
	b.wantErr(t, one, core.TimedOut)
	if _, answered := b.replies[two]; answered || len(b.held) != 2 {
		t.Fatalf("the second was answered %v, and %d questions were put", answered, len(b.held))
	}
	b.held = b.held[1:]
	b.release()
	b.wantErr(t, two, "")
}

func TestGrantIsRefused(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(*core.Grant)
		err   *core.Error
		want  core.Reason
	}{
		{"the server's no", nil, core.Errorf(core.OverQuota, "no"), core.OverQuota},
		{"another owner", func(g *core.Grant) { g.UID = 1001 }, nil, core.NotAllowed},
		{"another job", func(g *core.Grant) { g.Job = "8" }, nil, core.InternalFault},
		{"another generation", func(g *core.Grant) { g.Generation = 8 }, nil, core.InternalFault},
		{"too many VNIs", func(g *core.Grant) { g.VNIs = []core.VNI{2, 3, 4, 5, 6} }, nil, core.InternalFault},
		{"VNI 0", func(g *core.Grant) { g.VNIs = []core.VNI{4034, 0} }, nil, core.InternalFault},
		{"a VNI of everybody", func(g *core.Grant) { g.VNIs = []core.VNI{10} }, nil, core.InternalFault},
		{"a VNI twice", func(g *core.Grant) { g.VNIs = []core.VNI{20, 20} }, nil, core.InternalFault},
		{"a deposed server", func(g *core.Grant) { g.Head.Epoch = 0 }, nil, core.Recovering},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(1)
			b.step(Ordered{core.Orders{Head: core.Head{Store: "s", Epoch: 1, Revision: 1}}})
			b.grant = func(r Reserve) (core.Grant, *core.Error) {
				g := grantOf(r, 4034)
				if test.spoil != nil {
					test.spoil(&g)
				}
				return g, test.err
			}
			b.wantErr(t, b.prepare(job("7", 0), 1000, 10), test.want)
			b.wantPhases(t)
			if count[Drain](b) > 0 {
				t.Errorf("it cost the node")
			}
		})
	}
}

// A grant that was asked for before a full report that went without it is of a past that the server may have lost, however many sessions later it comes.
func TestGrantOfAnEarlierSession(t *testing.T) {
	for _, test := range []struct {
		name  string
		after func(b *bench) // the question, in session 1
		asks  int            // in all
	}{
		{"in the same session", func(*bench) {}, 1},
		{"no session any more", func(b *bench) { b.step(Linked{Up: false}) }, 1},
		{"a full report of a later session went without it", func(b *bench) {
			b.step(Linked{Up: false})
			b.step(Linked{Up: true})
		}, 2},
		{"a third session that has not reported", func(b *bench) {
			b.step(Linked{Up: false})
			b.step(Linked{Up: true})
			b.step(Linked{Up: false})
			hold := b.hold
			b.hold = func(a Action) bool { _, look := a.(Look); return look || hold(a) }
			b.step(Linked{Up: true})
		}, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(1)
			b.step(Linked{Up: true})
			b.hold = func(a Action) bool { _, reserve := a.(Reserve); return reserve }
			b.prepare(job("7", 0), 1000, 10)
			test.after(b)
			b.release()
			b.wantPhases(t, Ready)
			if n := count[Reserve](b); n != test.asks {
				t.Errorf("the server was asked %d times, want %d", n, test.asks)
			}
		})
	}
}

func TestJobWithoutNetwork(t *testing.T) {
	b := newBench(1)
	b.nics.devices = nil // it needs none
	b.grant = func(r Reserve) (core.Grant, *core.Error) { return grantOf(r), nil }
	c := b.prepare(job("7", 0), 1000, 10)
	b.wantErr(t, c, "")
	for _, v := range b.replies[c].Environment {
		if !v.Unset {
			t.Errorf("set: %+v", v)
		}
	}
	if n := len(b.replies[c].Environment); n != 13 || count[Publish](b) != 1 {
		t.Errorf("%d variables, published %d times", n, count[Publish](b))
	}
	b.wantErr(t, b.cleanUp(job("7", 0), 20), "")
	b.wantPhases(t)
	for name := range b.books.of {
		if strings.HasPrefix(name, "entry/") {
			t.Errorf("left in the store: %s", name)
		}
	}
}

func TestOtherActions(t *testing.T) {
	b := newBench(1)
	b.wantErr(t, b.hook(core.Intent{Action: core.StepEnd, Key: job("7", 0)}, 1000), "")
	b.wantErr(t, b.hook(core.Intent{Action: core.Room}, 0), core.NotSupported) // only a server knows; a yes would be a guess
	b.wantErr(t, b.hook(core.Intent{Action: core.Running}, 1000), core.NotAllowed)
	b.wantErr(t, b.hook(core.Intent{}, 0), core.NotSupported)
}

// Who joins a prepare under way is covered by the same clean-ups as if it had begun it; another owner does not join it at all.
func TestJoinedPrepare(t *testing.T) {
	b := newBench(1)
	b.hold = func(a Action) bool { _, ok := a.(Reserve); return ok }
	b.prepare(job("7", 0), 1000, 10)
	b.prepare(job("7", 0), 1000, 30)
	b.wantErr(t, b.cleanUp(job("7", 0), 20), "")
	other := b.prepare(job("7", 0), 1001, 40)
	grant := b.grant
	b.grant = func(r Reserve) (core.Grant, *core.Error) {
		g, err := grant(r)
		g.UID = 1000
		return g, err
	}
	b.release()
	b.wantErr(t, other, core.NotAllowed)
	b.wantPhases(t, Ready)
}

// A step of Slurm asks for whichever run its job has here.
func TestStepJoins(t *testing.T) {
	step := func(id string) core.Intent {
		return core.Intent{Action: core.Prepare, Key: job(id, core.AnyGeneration), UID: 1000, Joins: true}
	}
	reserves := func(b *bench) (n int) { return count[Reserve](b) }
	b := newBench(2)
	b.grant = func(r Reserve) (core.Grant, *core.Error) {
		r.Ask.Key, r.Ask.UID = job("7", 2), 1000
		return grantOf(r, 4034), nil
	}
	b.prepare(job("7", 2), 1000, 10)
	asked := reserves(b)
	if o := b.replies[b.hook(step("7"), 0)]; o.Err != nil || len(o.Environment) == 0 || reserves(b) != asked {
		t.Errorf("joined as %+v after %d questions", o, reserves(b)-asked)
	}
	first := step("7")
	first.Joins = false
	if o := b.replies[b.hook(first, 0)]; o.Err != nil || reserves(b) != asked+1 {
		t.Errorf("the first step: %+v after %d questions", o, reserves(b)-asked)
	}
	b.wantPhases(t, Ready)
	other := step("7")
	other.UID = 1001
	b.wantErr(t, b.hook(other, 0), core.NotAllowed)
	// A component of a het job has an id of its own; its run has the leader's.
	if o := b.replies[b.hook(step("8"), 0)]; o.Err != nil || len(o.Environment) == 0 {
		t.Errorf("a component: %+v", o)
	}
	b.wantPhases(t, Ready)
	b.cleanUp(job("7", 0), 20)
	b.wantPhases(t, Clean)
}

// TestCleanUpOfALeader: a component's step does not start behind the clean-up of its het job.
func TestCleanUpOfALeader(t *testing.T) {
	b := newBench(2)
	b.grant = func(r Reserve) (core.Grant, *core.Error) {
		r.Ask.Key = job("7", 2)
		return grantOf(r, 4034), nil
	}
	b.hold = func(a Action) bool { _, is := a.(Reserve); return is }
	key := job("8", core.AnyGeneration)
	step := b.hook(core.Intent{Action: core.Prepare, Key: key, UID: 1000, Began: 10, Tells: true}, 0)
	b.cleanUp(job("7", 0), 20)
	b.broken = core.Errorf(core.NICFailed, "EIO") // it waits for no NIC
	b.release()
	b.wantErr(t, step, core.Cancelled)
	b.broken = nil
	b.pass(time.Minute)
	b.wantPhases(t, Clean)
}
