package engine

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
)

// lost is a world whose store is new, and whose nodes are n1, n2 and n3.
func lost(t *testing.T) *world {
	w := newWorld(t, 100)
	w.cfg.Nodes = []string{"n1", "n2", "n3"}
	clear(w.store)
	w.load()
	return w
}

// before is the report of a node that has seen another store.
var before = core.Report{Seen: core.Head{Store: "another", Epoch: 1, Revision: 9}}

// A new store grants nothing until every node has reported in full.
func TestRecoverNewStore(t *testing.T) {
	w := lost(t)
	if !w.m.Recovering() || w.m.Figures().Awaited != 3 {
		t.Fatalf("recovering %v, %d awaited", w.m.Recovering(), w.m.Figures().Awaited)
	}
	w.attach("n1")
	w.attach("n2")
	w.attach("n4") // not of the configuration
	w.refused("n1", job("7", "n1"), app(), core.Recovering)
	w.restart()
	w.attach("n3")
	w.attach("n1")
	w.refused("n1", job("7", "n1"), app(), core.Recovering) // n2 has not told this process
	w.attach("n2")
	w.granted("n1", job("7", "n1"), app())
	w.restart()
	if w.m.Recovering() {
		t.Error("it recovers again after a restart")
	}
}

// A node that has reported and left again has told what it holds.
func TestRecoverCountsWhoHasReported(t *testing.T) {
	w := lost(t)
	w.attach("n1")
	w.detach("n1")
	w.step(Configure{w.cfg})
	if got := w.m.Figures().Awaited; got != 2 {
		t.Errorf("%d are awaited, want 2", got)
	}
}

// A wall clock that stands at zero makes no difference.
func TestRecoverWithoutClock(t *testing.T) {
	for _, wall := range []time.Time{{}, time.Unix(0, 0)} {
		w := newWorld(t, 100)
		w.cfg.Nodes = []string{"n1"}
		clear(w.store)
		w.now.Wall = wall
		w.load()
		w.load()
		if !w.m.Recovering() {
			t.Errorf("at %v it does not recover", wall)
		}
	}
}

func TestRecoverWithout(t *testing.T) {
	w := lost(t)
	w.begin("n1", before)
	w.attach("n2")
	if d := all[Done](w.step(Recover{Call: 1, Without: []string{"n9"}})); len(d) != 1 || d[0].Err == nil {
		t.Errorf("%v", d)
	}
	w.restart()
	w.attach("n1")
	w.step(Recover{Call: 2, Without: []string{"n3"}})
	w.refused("n1", job("7", "n1"), app(), core.Recovering)
	w.restart() // what was said is kept
	w.attach("n1")
	w.attach("n2")
	w.rests("n1")
	w.granted("n1", job("7", "n1"), app())
	if d := all[Done](w.step(Recover{Call: 3, Without: []string{"n3"}})); len(d) != 1 || d[0].Err != nil || d[0].Count != 0 {
		t.Errorf("%v", d)
	}
}

// Nodes that config.hcl no longer declares are not waited for.
func TestRecoverOfNodesTakenOut(t *testing.T) {
	w := lost(t)
	w.attach("n1")
	w.attach("n2")
	w.cfg.Nodes = []string{"n1", "n2"}
	w.step(Configure{w.cfg})
	w.granted("n1", job("7", "n1"), app())

	w = lost(t)
	w.begin("n1", before)
	w.cfg.Nodes = nil
	w.restart()
	w.attach("n1")
	w.rests("n1")
	w.granted("n1", job("7", "n1"), app())
}

// A store that is older than what a node has seen was rolled back: what it granted since is unknown to it.
func TestRecoverRolledBack(t *testing.T) {
	w := newWorld(t, 100, "n1", "n2")
	w.cfg.Nodes = []string{"n1", "n2"}
	old := map[Slot]Record{}
	for s, r := range w.store {
		old[s] = r
	}
	j := job("7", "n1")
	g := w.granted("n1", j, app())
	seen := w.m.Head()
	w.store = old
	w.restart()
	before := w.m.Head()
	w.attach("n2")
	acts := w.begin("n1", core.Report{Seen: seen, Held: []core.Held{heldAs(core.HeldReady, j.Run, g.VNIs...)}})
	loud := false
	for _, s := range all[Say](acts) {
		loud = loud || s.Level == Alarm
	}
	if h := w.m.Head(); !loud || h.Epoch <= before.Epoch || h.Before(seen) || h.Store != before.Store {
		t.Errorf("head %+v after %+v, having seen %+v; alarm %v", h, before, seen, loud)
	}
	// Both are there, so that only the quarantine is waited for; the VNI is the job's again.
	w.want(j.Run, Active)
	w.rests("n2")
	if n := w.granted("n2", job("8", "n2"), app()); slices.Equal(n.VNIs, g.VNIs) {
		t.Errorf("VNI %v is given twice", n.VNIs)
	}
}

func TestRecoverRolledBackWaits(t *testing.T) {
	w := newWorld(t, 100, "n1", "n2")
	w.cfg.Nodes = []string{"n1", "n2"}
	seen := w.m.Head()
	seen.Revision += 5
	w.restart()
	w.begin("n1", core.Report{Seen: seen})
	w.refused("n1", job("7", "n1"), app(), core.Recovering)
	w.restart()
	w.attach("n1")
	w.refused("n1", job("7", "n1"), app(), core.Recovering)
	w.attach("n2")
	w.rests("n1")
	w.granted("n1", job("7", "n1"), app())
}

// rests lets a quarantine pass after a store was lost. What rested in the store of before is known to nobody, so nothing is granted until then.
func (w *world) rests(node string) {
	w.t.Helper()
	for _, left := range []time.Duration{time.Minute, time.Second} {
		w.refused(node, job("77", node), app(), core.Recovering)
		if got := w.m.Figures().Rests; got != left {
			w.t.Fatalf("every VNI rests for %v more, want %v", got, left)
		}
		w.tick(min(left, time.Minute-time.Second))
	}
}

// A first store in a system that never had one has nothing to wait for but its nodes, and nothing to warn of, also where
// its server starts anew before they have reported.
func TestAFirstStoreRestsNothing(t *testing.T) {
	w := lost(t)
	first := w.m.Figures().Cause
	w.attach("n1")
	w.restart()
	if again := w.m.Figures().Cause; again != first {
		t.Errorf("at its first start: %s; at the second: %s", first, again)
	}
	for _, n := range w.cfg.Nodes {
		for _, s := range all[Say](w.attach(n)) {
			if s.Level != Info {
				t.Errorf("level %d: %s", s.Level, s.Text)
			}
		}
	}
	w.granted("n1", job("7", "n1"), app())
}

// A node that has seen another store shows that one was lost. The server's next start knows it still.
func TestANewStoreBesideOldNodesRests(t *testing.T) {
	for _, restart := range []bool{false, true} {
		w := lost(t)
		w.begin("n1", before)
		if restart { // n1 has seen the new store by now
			w.restart()
			w.begin("n1", core.Report{Seen: w.m.Head()})
		}
		w.attach("n2")
		w.attach("n3")
		w.rests("n1")
		w.granted("n1", job("7", "n1"), app())
	}
}

// The store's own witness says the same before any node does; the alarm is raised with the first step.
func TestRecoverByWitness(t *testing.T) {
	w := newWorld(t, 100, "n1")
	w.cfg.Nodes = []string{"n1"}
	seen := w.m.Head()
	w.restart(seen)
	if w.m.Recovering() {
		t.Fatal("it recovers although nothing is lost")
	}
	seen.Revision++
	w.restart(seen)
	if !w.m.Recovering() {
		t.Fatal("it does not recover")
	}
	if says := all[Say](w.tick(time.Second)); len(says) != 1 || says[0].Level != Alarm {
		t.Errorf("%v", says)
	}
}

func TestRecoverIgnores(t *testing.T) {
	for name, seen := range map[string]func(core.Head) core.Head{
		"another store":         func(core.Head) core.Head { return core.Head{Store: "other", Epoch: 9, Revision: 9} },
		"an older state":        func(h core.Head) core.Head { h.Revision--; return h },
		"an epoch out of reach": func(h core.Head) core.Head { h.Epoch = ^uint64(0); return h },
		"the last revision":     func(h core.Head) core.Head { h.Revision = ^uint64(0); return h },
		"an epoch before, later": func(h core.Head) core.Head {
			h.Incarnation, h.Epoch, h.Revision = 0, h.Epoch-1, h.Revision+100
			return h
		},
	} {
		w := newWorld(t, 100)
		w.cfg.Nodes = []string{"n1", "n2"}
		w.step(Configure{w.cfg})
		w.begin("n1", core.Report{Seen: seen(w.m.Head())})
		if w.m.Recovering() || w.m.Head().Epoch == 0 {
			t.Errorf("%s: it recovers", name)
		}
	}
}

// A copy that was put back is found out after its own commits have passed what the nodes saw, and each branch only once.
func TestRecoverACopyThatWentOn(t *testing.T) {
	w := newWorld(t, 100, "n1", "n2")
	w.cfg.Nodes = []string{"n1", "n2"}
	w.step(Configure{w.cfg})
	copied := maps.Clone(w.store)
	j := job("7", "n1")
	g := w.granted("n1", j, app())
	seen := w.m.Head()
	w.store = copied
	w.restart() // nothing outside it says that it is old
	w.attach("n2")
	for w.m.Head().Revision <= seen.Revision {
		w.step(Configure{w.cfg})
		w.granted("n2", job(fmt.Sprint(100+w.calls), "n2"), app())
	}
	report := core.Report{Seen: seen, Held: []core.Held{heldAs(core.HeldReady, j.Run, g.VNIs...)}}
	w.begin("n1", report)
	if !w.m.Recovering() {
		t.Fatal("a node that saw another branch of the store does not stop it")
	}
	w.rests("n2")
	w.granted("n2", job("8", "n2"), app())
	w.restart()
	w.attach("n2")
	w.begin("n1", report)
	if w.m.Recovering() {
		t.Error("a branch that was met before stops the store again")
	}
	report.Seen.Revision++
	w.begin("n1", report)
	if !w.m.Recovering() {
		t.Error("the other branch goes on, and nothing is said")
	}
}

// Many starts do not hide that a copy was put back.
func TestRecoverACopyThatStartedOften(t *testing.T) {
	w := newWorld(t, 100, "n1", "n2")
	w.cfg.Nodes = []string{"n1", "n2"}
	w.step(Configure{w.cfg})
	copied := maps.Clone(w.store)
	w.restart()
	w.attach("n1")
	w.granted("n1", job("7", "n1"), app())
	seen := w.m.Head()
	w.store = copied
	for range 2 * MaxPast {
		w.restart()
	}
	w.attach("n2")
	w.granted("n2", job("8", "n2"), app())
	for range 2 * MaxPast {
		w.restart()
	}
	w.begin("n1", core.Report{Seen: seen})
	if !w.m.Recovering() {
		t.Error("a node that saw another branch of the store does not stop it")
	}
}

// A store that nothing vouches for waits for its nodes, and knows its own quarantines.
func TestRecoverUnwitnessed(t *testing.T) {
	w := newWorld(t, 100, "n1", "n2")
	w.cfg.Nodes = []string{"n1", "n2"}
	w.restart(core.Head{})
	w.attach("n1")
	w.refused("n1", job("7", "n1"), app(), core.Recovering)
	w.restart() // there is a witness now; the store waits all the same
	w.attach("n1")
	w.refused("n1", job("7", "n1"), app(), core.Recovering)
	w.attach("n2")
	w.granted("n1", job("7", "n1"), app())
}

// A machine with a hundred dead nodes of 11,136 starts at once by its witness; without one, root goes on without them.
func TestRecoverWithDeadNodes(t *testing.T) {
	w := newWorld(t, 1000)
	for i := range 11136 {
		w.cfg.Nodes = append(w.cfg.Nodes, fmt.Sprintf("n%d", i+1))
	}
	w.restart()
	alive := w.cfg.Nodes[:len(w.cfg.Nodes)-100]
	w.attach("n1")
	w.granted("n1", job("7", "n1"), app())
	w.restart(core.Head{})
	for _, n := range alive {
		w.attach(n)
	}
	if got := w.m.Figures().Awaited; got != 100 {
		t.Fatalf("%d are awaited, want 100", got)
	}
	w.refused("n1", job("8", "n1"), app(), core.Recovering)
	w.step(Recover{Call: 1, Without: w.cfg.Nodes[len(alive):]})
	w.granted("n1", job("8", "n1"), app())
}

// A node that invents incarnations stops the system a few times; then the node alone is out of service. A person's
// resume, in Weft or in a scheduler, lets it stop the system as often again.
func TestRecoverBoundsOneNodesClaims(t *testing.T) {
	w := newWorld(t, 100, "n1", "n2")
	w.cfg.Nodes = []string{"n1", "n2"}
	w.step(Configure{w.cfg})
	for _, resume := range []func(){
		func() { w.step(SetDrain{Call: 1, Node: "n1"}) },
		func() {
			w.show("slurm", map[string]core.Drain{"n1": {Reason: core.DrainPrefix + w.m.nodes["n1"].Drained}})
			w.show("slurm", map[string]core.Drain{})
		},
		func() {},
	} {
		stops := 0
		for i := range 20 {
			seen := w.m.Head()
			seen.Incarnation, seen.Epoch = uint64(1000+i), seen.Epoch+1
			w.begin("n1", core.Report{Seen: seen})
			if w.m.Recovering() {
				stops++
			}
			w.tick(time.Second)
			w.tick(time.Minute)
		}
		if stops != maxClaims || w.m.nodes["n1"].Drained == "" || w.m.nodes["n2"].Drained != "" {
			t.Errorf("it stopped the system %d times, want %d; n1 is drained with %q", stops, maxClaims, w.m.nodes["n1"].Drained)
		}
		resume()
	}
}

// The past is bounded: a node that was away for longer than it reaches stops nobody, where its revision fits.
func TestRecoverPastIsBounded(t *testing.T) {
	w := newWorld(t, 100)
	w.cfg.Nodes = []string{"n1", "n2"}
	seen := w.m.Head()
	for range 2 * MaxPast {
		w.restart()
	}
	if n := len(w.m.meta.Past); n != MaxPast {
		t.Errorf("it keeps %d incarnations, want %d", n, MaxPast)
	}
	w.begin("n1", core.Report{Seen: seen})
	if w.m.Recovering() {
		t.Error("a node that was away for long stops the system")
	}
	newest := w.m.Head()
	w.restart()
	w.begin("n1", core.Report{Seen: newest})
	if w.m.Recovering() {
		t.Error("a node that saw the incarnation before this one stops the system")
	}
	seen.Revision = w.m.Head().Revision
	w.begin("n1", core.Report{Seen: seen})
	if !w.m.Recovering() {
		t.Error("an incarnation that cannot have come so far is believed")
	}
}

// Of each incarnation the store knows how far it came: one commit more, which a node has seen, is another branch.
func TestRecoverKnowsTheEndOfEachIncarnation(t *testing.T) {
	for _, restarts := range []int{0, 1, 3} {
		for more := range uint64(2) {
			w := newWorld(t, 100, "n1", "n2")
			w.cfg.Nodes = []string{"n1", "n2"}
			seen := w.m.Head()
			for range restarts {
				w.restart()
			}
			seen.Revision += more
			w.begin("n1", core.Report{Seen: seen})
			if got := w.m.Recovering(); got != (more > 0) {
				t.Errorf("%d starts later, %d commits ahead: recovering: %v", restarts, more, got)
			}
		}
	}
}

// What the server learns of nodes that are down ends the wait of a store without a witness, and no other.
func TestRecoverLeavesOutNodesThatAreDown(t *testing.T) {
	for name, tt := range map[string]struct {
		begin func(*world)
		left  int
	}{
		"no witness":  {func(w *world) { w.restart(core.Head{}) }, 0},
		"a new store": {func(w *world) { clear(w.store); w.load() }, 2},
		"an older copy": {func(w *world) {
			seen := w.m.Head()
			seen.Revision++
			w.restart(seen)
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 100)
			w.cfg.Nodes = []string{"n1", "n2"}
			w.step(Configure{w.cfg})
			tt.begin(w)
			w.step(Recover{Call: 1, Without: w.cfg.Nodes, Unwitnessed: true})
			if got := w.m.Figures().Awaited; got != tt.left {
				t.Errorf("%d nodes are awaited, want %d", got, tt.left)
			}
		})
	}
}
