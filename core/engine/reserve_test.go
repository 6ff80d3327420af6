package engine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
)

func TestReserveMakesAndJoins(t *testing.T) {
	w := newWorld(t, 100, "n1", "n2", "n3")
	j := job("7", "n[1-2]")
	first := w.granted("n1", j, app())
	if len(first.VNIs) != 1 || first.Run != j.Run || first.Classes != core.BestEffort || first.Limits[core.TXQ].Reserved != 8 || len(first.Inventory) != 2 {
		t.Fatalf("granted %+v", first)
	}
	again := w.granted("n1", j, app())
	other := w.granted("n2", j, app())
	if !slices.Equal(first.VNIs, again.VNIs) || !slices.Equal(first.VNIs, other.VNIs) {
		t.Errorf("one job has VNIs %v, %v and %v", first.VNIs, again.VNIs, other.VNIs)
	}
	if got := w.m.Figures().Used["jobs"]; got != 1 {
		t.Errorf("%d VNIs are in use, want 1", got)
	}
	two := w.granted("n3", job("8", "n3"), app())
	if slices.Equal(first.VNIs, two.VNIs) {
		t.Errorf("two jobs have VNI %v", two.VNIs)
	}
}

// An answer that was asked for before the server started is as old as it is, not as old as the server.
func TestReserveAsksAfterAnOldAnswer(t *testing.T) {
	w := newWorld(t, 100, "n1", "n2")
	j := job("7", "n[1-2]")
	w.granted("n1", j, app())
	w.restart()
	w.attach("n1")
	w.attach("n2")
	w.step(Answer{Scheduler: "slurm", Began: w.now.Uptime - time.Minute, Jobs: core.Jobs{Complete: true, Jobs: []core.JobStatus{running(j.Run)}}})
	in := w.ask("n2", j)
	if acts := w.step(in); !described(acts, in.Call) {
		t.Error("the scheduler is not asked although its answer is a minute old")
	}
}

// The scheduler is asked once while its answer is fresh; a join of the others is one small record.
func TestReserveAsksOnceWhileFresh(t *testing.T) {
	w := newWorld(t, 100, "n1", "n2", "n3", "n4")
	j := job("7", "n[1-3]")
	w.granted("n1", j, app())
	w.pass(DefaultRules.Fresh)
	in := w.ask("n2", j)
	if acts := w.step(in); described(acts, in.Call) {
		t.Error("the scheduler is asked again within the time of a fresh answer")
	}
	if len(w.written) != 1 || w.written[0] != (Join{1, "n2", "n2-boot1", false}) {
		t.Errorf("a join wrote %v", w.written)
	}
	w.pass(1)
	in = w.ask("n3", j)
	if acts := w.step(in); !described(acts, in.Call) {
		t.Error("the scheduler is not asked although its answer is old")
	}
	w.complete(running(j.Run))
	in = w.ask("n3", j)
	if acts := w.step(in); described(acts, in.Call) {
		t.Error("a complete answer that shows the job is not fresh enough")
	}
	in = w.ask("n4", j)
	if acts := w.step(in); !described(acts, in.Call) {
		t.Error("the scheduler is not asked about a node outside the job's shares")
	}
}

// A fresh answer vouches for the run that it showed: who claims another one asks the scheduler, and is refused.
func TestReserveOfAFalseClaim(t *testing.T) {
	for name, tt := range map[string]struct {
		claim func(*Reserve)
		why   core.Reason
	}{
		"another uid":        {func(r *Reserve) { r.Ask.UID++ }, core.NotAllowed},
		"nobody's uid":       {func(r *Reserve) { r.Ask.UID = core.NoUID }, core.NotAllowed},
		"another generation": {func(r *Reserve) { r.Ask.Key.Generation++ }, core.JobEnded},
		"another job":        {func(r *Reserve) { r.Ask.Key.Job = "8" }, core.JobEnded},
		"another scheduler":  {func(r *Reserve) { r.Ask.Key.Scheduler = "flux" }, core.JobEnded},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 100, "n1", "n2")
			j := job("7", "n[1-2]")
			w.granted("n1", j, app())
			in := w.ask("n2", j)
			tt.claim(&in)
			if acts := w.step(in); !described(acts, in.Call) {
				t.Fatalf("the scheduler is not asked: %v", acts)
			}
			in.Said = &Said{Began: w.now.Uptime, Job: j, Decision: app()}
			if _, err := w.outcome(w.step(in), in.Call); err == nil || err.Reason != tt.why {
				t.Errorf("%v, want %s", err, tt.why)
			}
			if v := w.views()[0]; v.Joined != 1 || len(w.written) > 0 {
				t.Errorf("the job is on %v, written: %v", v.Some, w.written)
			}
		})
	}
}

// An answer that lacks the job is newer than the one that showed it: nobody joins on the older one.
func TestReserveAsksWhenTheNewestAnswerLacksTheJob(t *testing.T) {
	w := newWorld(t, 100, "n1", "n2")
	j := job("7", "n[1-2]")
	w.granted("n1", j, app())
	w.pass(time.Second)
	w.complete()
	in := w.ask("n2", j)
	if acts := w.step(in); !described(acts, in.Call) {
		t.Error("joined although the newest answer lacks the job")
	}
}

func TestReserveRefuses(t *testing.T) {
	named := func(n string) core.Job { j := job(n, "n1"); return j }
	for _, tt := range []struct {
		name string
		why  core.Reason
		said func(*Said)
		ask  func(*Reserve)
		fail bool // the scheduler is told that the job fails: it ends it, or where the class is system puts it back into the queue
	}{
		{"another uid than the scheduler's", core.NotAllowed, nil, func(r *Reserve) { r.Ask.UID = 1001 }, false},
		{"nobody's uid", core.NotAllowed, func(s *Said) { s.Job.UID = core.NoUID }, func(r *Reserve) { r.Ask.UID = core.NoUID }, false},
		{"not placed here: it is not this node's to end the job", core.NotPlaced, func(s *Said) { s.Job.Placements[0].Hosts = "n[2-9]" }, nil, false},
		{"hosts that cannot be read", core.NotPlaced, func(s *Said) { s.Job.Placements[0].Hosts = "n[1-" }, nil, false},
		{"over", core.JobEnded, func(s *Said) { s.Job.Gone = true }, nil, false},
		{"another generation", core.JobEnded, func(s *Said) { s.Job.Generation = 3 }, nil, false},
		{"the scheduler does not answer", core.SchedulerAway, func(s *Said) { s.Err = core.Errorf(core.SchedulerAway, "x") }, nil, true},
		{"the scheduler does not know it", core.JobUnknown, func(s *Said) { s.Err = core.Errorf(core.JobUnknown, "x") }, nil, true},
		{"denied", core.PolicyDenied, func(s *Said) { s.Decision.Deny = core.Errorf(core.PolicyDenied, "x") }, nil, true},
		{"no such pool", core.NotThere, func(s *Said) { s.Decision.VNIs[0].Pool = "none" }, nil, false},
		{"more VNIs than a service carries", core.PolicyFault, func(s *Said) { s.Decision.VNIs = make([]Wanted, 5) }, nil, true},
		{"no scheduler of that name", core.BadCall, nil, func(r *Reserve) { r.Ask.Key.Scheduler = "pbs" }, false},
		{"an id that is a path", core.BadCall, nil, func(r *Reserve) { r.Ask.Key.Job = "../7" }, false},
		{"a node that never reported", core.NodeAway, nil, func(r *Reserve) { r.Node = "n5" }, false},
		{"another boot", core.NodeAway, nil, func(r *Reserve) { r.Ask.Boot = "n1-boot0" }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 100, "n1")
			j := named("7")
			in := w.ask("n1", j)
			in.Said = &Said{Began: w.now.Uptime, Job: j, Decision: app()}
			if tt.said != nil {
				tt.said(in.Said)
			}
			if tt.ask != nil {
				tt.ask(&in)
			}
			acts := w.step(in)
			_, err := w.outcome(acts, in.Call)
			if err == nil || err.Reason != tt.why {
				t.Fatalf("%v, want %s", err, tt.why)
			}
			if got := len(all[Fail](acts)) > 0; got != tt.fail {
				t.Errorf("the scheduler is told to end the job: %v, want %v", got, tt.fail)
			}
			for _, f := range all[Fail](acts) {
				if f.Again != (tt.why.Scope() == core.ScopeSystem) {
					t.Errorf("class %v: the job may come again: %v", tt.why.Scope(), f.Again)
				}
			}
			if len(w.written) != 0 || len(w.views()) != 0 || w.m.Figures().Used["jobs"] != 0 {
				t.Errorf("a refusal left %v, %v", w.written, w.views())
			}
		})
	}
}

func TestReserveWithoutVNIsHoldsNothing(t *testing.T) {
	w := newWorld(t, 100, "n1")
	if g := w.granted("n1", job("7", "n1"), Decision{}); len(g.VNIs) != 0 || len(w.written) != 0 {
		t.Errorf("granted %v, wrote %v", g.VNIs, w.written)
	}
}

// All VNIs or none: what was taken for a job whose other pool is empty goes back.
func TestReserveTakesAllOrNothing(t *testing.T) {
	w := newWorld(t, 3, "n1")
	w.granted("n1", job("1", "n1"), app())
	d := app()
	d.VNIs = []Wanted{{"app", "jobs"}, {"job", "jobs"}, {"daos", "jobs"}}
	w.refused("n1", job("2", "n1"), d, core.PoolEmpty)
	if got := w.m.Figures().Used["jobs"]; got != 1 {
		t.Errorf("%d VNIs are in use, want 1", got)
	}
	d.VNIs = d.VNIs[:2]
	w.granted("n1", job("3", "n1"), d)
}

// A job that is let run without isolation is so on all of its nodes, also when a VNI is free again before the last of them comes, and over a restart.
func TestReserveDegradesWhereThePoolIsEmpty(t *testing.T) {
	w := newWorld(t, 1, "n1", "n2", "n3")
	first := job("1", "n3")
	w.granted("n3", first, app())
	j := job("7", "n[1-2]")
	w.refused("n1", j, app(), core.PoolEmpty)
	d := app()
	d.Degrade = true
	g := w.granted("n1", j, d)
	if len(g.VNIs) != 0 || len(g.Warnings) != 1 || !strings.Contains(g.Warnings[0], "without isolation") {
		t.Errorf("granted %+v", g)
	}
	if grants, says := all[Granted](w.last), all[Say](w.last); !grants[0].Degraded || len(says) != 1 || says[0].Level != Warn {
		t.Errorf("acts %v", w.last)
	}
	w.pass(time.Second)
	w.final(first.Run)
	w.tell("n3", heldAs(core.HeldClean, first.Run))
	w.tick(time.Minute)
	w.restart()
	w.attach("n1", heldAs(core.HeldReady, j.Run))
	w.attach("n2")
	w.attach("n3")
	if g := w.granted("n2", j, d); len(g.VNIs) != 0 {
		t.Errorf("its second node has VNI %v, and its first has none", g.VNIs)
	}
	if acts := all[Granted](w.last); acts[0].Degraded {
		t.Error("it is counted twice")
	}
	if got := w.m.Figures().Used["jobs"]; got != 0 {
		t.Errorf("%d VNIs are in use, and the job has none", got)
	}
	if g := w.granted("n3", job("8", "n3"), d); len(g.VNIs) != 1 {
		t.Errorf("a VNI is free, and the next job has %v", g.VNIs)
	}
	w.pass(time.Second)
	w.final(j.Run)
	w.tell("n1", heldAs(core.HeldClean, j.Run))
	w.tell("n2", heldAs(core.HeldClean, j.Run))
	w.tick(time.Minute)
	w.want(j.Run, 0)
}

// What cannot be had for another reason is refused all the same.
func TestReserveDegradesForNothingElse(t *testing.T) {
	w := newWorld(t, 1, "n1")
	d := app()
	d.Degrade = true
	d.Deny = core.Errorf(core.PolicyDenied, "x")
	w.refused("n1", job("1", "n1"), d, core.PolicyDenied)
	d.Deny, d.Quotas = nil, []Quota{{Name: "none", Subject: "all"}}
	w.refused("n1", job("1", "n1"), d, core.OverQuota)
	d.Quotas, d.VNIs = nil, []Wanted{{"app", "nowhere"}}
	w.refused("n1", job("1", "n1"), d, core.NotThere)
	d = app()
	d.Degrade = true
	w.step(SetDrain{Call: 1, Node: "n1", Reason: "cable"})
	w.refused("n1", job("1", "n1"), d, core.NodeDrained)
}

func TestReserveOfDrainedNode(t *testing.T) {
	w := newWorld(t, 100, "n1", "n2")
	w.step(SetDrain{Call: 1, Node: "n1", Reason: "cable"})
	w.refused("n1", job("7", "n[1-2]"), app(), core.NodeDrained)
	w.granted("n2", job("7", "n[1-2]"), app())
	w.step(SetDrain{Call: 2, Node: "n1", Reason: ""})
	w.granted("n1", job("8", "n1"), app())
}

// Ids recur when a cluster is rebuilt: another owner or submit time is another job, and proves the old one to be gone.
func TestReserveOfRecurringID(t *testing.T) {
	for name, change := range map[string]func(*core.Job){
		"submit time": func(j *core.Job) { j.Submitted = 200 },
		"owner":       func(j *core.Job) { j.UID = 1001 },
		"generation":  func(j *core.Job) { j.Generation = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 100, "n1", "n2")
			old := job("7", "n[1-2]")
			was := w.granted("n1", old, app())
			w.pass(time.Minute)
			next := old
			change(&next)
			is := w.granted("n2", next, app())
			if slices.Equal(was.VNIs, is.VNIs) {
				t.Errorf("both have VNI %v", is.VNIs)
			}
			w.want(old.Run, Draining)
			w.want(next.Run, Active)
			if got := cleans(w.last, "n1"); len(got) != 1 || got[0] != old.Run {
				t.Errorf("n1 is ordered to clean %v", got)
			}
			if next.Generation > old.Generation {
				w.refused("n2", old, app(), core.JobEnded)
			}
		})
	}
}

// What the scheduler said before a prepare does not count against that prepare: it is asked again.
func TestReserveAsksAgainWhenThePrepareIsNewer(t *testing.T) {
	w := newWorld(t, 100, "n1", "n2")
	next := job("7", "n[1-2]")
	next.Generation = 1
	in := w.ask("n2", next)
	in.Said = &Said{Began: w.now.Uptime, Job: next, Decision: app()}
	w.pass(time.Second)
	old := job("7", "n[1-2]")
	w.granted("n1", old, app())
	if acts := w.step(in); !described(acts, in.Call) || len(all[Granted](acts)) != 0 {
		t.Fatalf("%v", acts)
	}
	w.want(old.Run, Active)
	w.pass(time.Second)
	in.Said.Began = w.now.Uptime
	if _, err := w.outcome(w.step(in), in.Call); err != nil {
		t.Fatal(err)
	}
	w.want(old.Run, Draining)
}

func TestReserveOfEarlierGeneration(t *testing.T) {
	w := newWorld(t, 100, "n1", "n2")
	next := job("7", "n[1-2]")
	next.Generation = 1
	w.granted("n1", next, app())
	w.pass(time.Second)
	w.refused("n2", job("7", "n[1-2]"), app(), core.JobEnded)
	w.want(next.Run, Active)
}

// Limits are decided once a share; a node that came late gets what the first with as many cores got.
func TestReserveLimitsOfShares(t *testing.T) {
	w := newWorld(t, 100, "n1", "n2", "n3", "n4")
	limit := func(n uint16) (l core.Limits) { l[core.TXQ] = core.Limit{Max: n, Reserved: n}; return l }
	j := job("7", "n1")
	j.Placements = []core.Placement{{Hosts: "n1", Nodes: 1, Cores: 4}, {Hosts: "n2", Nodes: 1, Cores: 8}}
	d := app()
	d.Limits = []core.Limits{limit(4), limit(8)}
	late := j
	late.Placements = []core.Placement{{Hosts: "n[1-2]", Nodes: 2, Cores: 4}, {Hosts: "n3", Nodes: 1, Cores: 8}, {Hosts: "n4", Nodes: 1, Cores: 2}}
	now := d
	now.Limits = []core.Limits{limit(100), limit(101), limit(102)}
	for _, tt := range []struct {
		node string
		j    core.Job
		d    Decision
		want uint16
	}{{"n1", j, d, 4}, {"n2", j, d, 8}, {"n3", late, now, 8}, {"n4", late, now, 102}} {
		if got := w.granted(tt.node, tt.j, tt.d).Limits; got != limit(tt.want) {
			t.Errorf("%s gets %v, want %d", tt.node, got[core.TXQ], tt.want)
		}
	}
}

// A node that gave the job back does not get it again in this boot.
// A job's part of a node goes with its grant, but where it has all of the node's cores, and where policy is greedy.
func TestReserveOfShares(t *testing.T) {
	w := newWorld(t, 100, "n1", "n2", "n3", "n4")
	j := job("7", "n1")
	j.Placements = []core.Placement{
		{Hosts: "n1", Nodes: 1, Cores: 8, Total: 64}, {Hosts: "n2", Nodes: 1, Cores: 64, Total: 64}, {Hosts: "n3", Nodes: 1, Cores: 8},
	}
	d := app()
	for node, want := range map[string]core.Share{"n1": {Cores: 8, Total: 64}, "n2": {}, "n3": {Cores: 8}} {
		if g := w.granted(node, j, d); g.Share != want {
			t.Errorf("%s: %+v, want %+v", node, g.Share, want)
		}
	}
	j.Placements[1] = core.Placement{Hosts: "n4", Nodes: 1, Cores: 4, Total: 32}
	if g := w.granted("n4", j, d); g.Share != (core.Share{Cores: 4, Total: 32}) {
		t.Errorf("a node that came late: %+v", g.Share)
	}
	greedy := job("8", "n1")
	greedy.Placements = []core.Placement{{Hosts: "n1", Nodes: 1, Cores: 8, Total: 64}}
	d.Greedy = true
	if g := w.granted("n1", greedy, d); g.Share != (core.Share{}) {
		t.Errorf("greedy: %+v", g.Share)
	}
}

func TestReserveOfCleanJoin(t *testing.T) {
	w := newWorld(t, 100, "n1", "n2")
	j := job("7", "n[1-2]")
	w.granted("n1", j, app())
	w.granted("n2", j, app())
	w.tell("n1", heldAs(core.HeldClean, j.Run))
	w.pass(1)
	w.refused("n1", j, app(), core.JobRelaunch)
	w.reboot("n1")
	w.granted("n1", j, app())
	w.final(j.Run)
	w.tell("n2", heldAs(core.HeldClean, j.Run))
	w.want(j.Run, Draining)
}

// A step of Slurm knows neither its run's generation nor, in a het job, the leader's id. The scheduler's answer has both.
func TestReserveOfAnyGeneration(t *testing.T) {
	w := newWorld(t, 100, "n1", "n2")
	second := job("7", "n[1-2]")
	second.Generation = 2
	step := func(node, id string) Reserve {
		in := w.ask(node, second)
		in.Ask.Key = core.Key{JobID: core.JobID{Scheduler: "slurm", Job: id}, Generation: core.AnyGeneration}
		in.Ask.Tells = true
		return in
	}
	answered := func(in Reserve, d Decision) (core.Grant, *core.Error, []Action) {
		t.Helper()
		if acts := w.step(in); !described(acts, in.Call) {
			t.Fatalf("the scheduler is not asked: %v", acts)
		}
		in.Said = &Said{Began: w.now.Uptime, Job: second, Decision: d, Policy: w.by}
		acts := w.step(in)
		g, err := w.outcome(acts, in.Call)
		return g, err, acts
	}
	// The hook says the reason itself: the scheduler is not told to end the job.
	denied := app()
	denied.Deny = core.Errorf(core.PolicyDenied, "no")
	if _, err, acts := answered(step("n1", "7"), denied); err == nil || slices.ContainsFunc(acts, func(a Action) bool { _, is := a.(Fail); return is }) {
		t.Errorf("refused with %v: %v", err, acts)
	}
	g, err, _ := answered(step("n1", "7"), app())
	if err != nil || g.Run != second.Run {
		t.Fatalf("granted %+v, %v", g, err)
	}
	// Its further steps on that node join without a question, the first on another node does not.
	in := step("n1", "7")
	if got, err := w.outcome(w.step(in), in.Call); err != nil || !slices.Equal(got.VNIs, g.VNIs) {
		t.Errorf("the second step: %+v, %v", got, err)
	}
	if got, err, _ := answered(step("n2", "8"), app()); err != nil || !slices.Equal(got.VNIs, g.VNIs) {
		t.Errorf("a component of the het job: %+v, %v", got, err)
	}
	// Nobody else's job is taken for it, and no run that is over.
	other := step("n2", "7")
	other.Ask.UID++
	if _, err, _ := answered(other, app()); err == nil || err.Reason != core.NotAllowed {
		t.Errorf("another's job: %v", err)
	}
	w.tell("n1", core.Held{Run: second.Run, State: core.HeldClean})
	w.pass(1)
	if _, err, _ := answered(step("n1", "7"), app()); err == nil || err.Reason != core.JobRelaunch {
		t.Errorf("after its clean-up: %v", err)
	}
}
