package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
)

// vouching is a world whose agents answer Orders.Vouch, with a job on both nodes.
func vouching(t *testing.T) (*world, core.Job, core.Held) {
	w := newWorld(t, 100, "n1", "n2")
	j := job("7", "n[1-2]")
	held := heldAs(core.HeldReady, j.Run, w.granted("n1", j, app()).VNIs...)
	w.granted("n2", j, app())
	for _, n := range []string{"n1", "n2"} {
		w.begin(n, core.Report{Agent: "a", Held: []core.Held{held}})
	}
	return w, j, held
}

func asks(acts []Action, run core.Run) (nodes []string) {
	for _, o := range all[Order](acts) {
		if slices.Contains(o.Orders.Vouch, run) {
			nodes = append(nodes, o.Node)
		}
	}
	return nodes
}

// A job that complete answers lack stays as long as one of its nodes sees it live, and ends with that.
func TestANodeVouches(t *testing.T) {
	w, j, held := vouching(t)
	miss := func() []Action { w.pass(5 * time.Second); return w.complete() }
	says := func(node string, l core.Life) { h := held; h.Life = l; w.tell(node, h) }
	if got := asks(miss(), j.Run); !slices.Equal(got, []string{"n1", "n2"}) {
		t.Fatalf("the first answer that lacks the job asks %v", got)
	}
	says("n1", core.LifeNone)
	says("n2", core.LifeSeen)
	for range 3 {
		acts := miss()
		w.want(j.Run, Active)
		if got := asks(acts, j.Run); !slices.Equal(got, []string{"n1", "n2"}) {
			t.Fatalf("a job that is kept is asked for again: %v", got)
		}
		v := w.m.Job(j.JobID)[0]
		f := w.m.Figures()
		if f.Kept != 1 || f.Held[HeldVouched] != 1 || !v.Kept || v.Some[0].Vouches || !v.Some[1].Vouches {
			t.Errorf("%+v %+v", f, v)
		}
		says("n1", core.LifeNone)
		says("n2", core.LifeSeen)
	}
	w.pass(time.Second)
	w.complete(running(j.Run))
	if got := w.m.Figures().Kept; got != 0 {
		t.Errorf("%d are kept, and the scheduler lists the job", got)
	}
	miss()
	says("n1", core.LifeNone)
	says("n2", core.LifeNone)
	miss()
	w.want(j.Run, Draining)
}

// A node has a while to answer a question, in its next session too. An older agent is not waited for.
func TestAnswerWaitsForNodes(t *testing.T) {
	for _, tt := range []struct {
		name string
		then func(w *world, run core.Run)
		wait time.Duration
		want State
	}{
		{"silent", func(*world, core.Run) {}, DefaultRules.Vouch - 1, Active},
		{"silent for too long", func(*world, core.Run) {}, DefaultRules.Vouch, Draining},
		{"away", func(w *world, _ core.Run) { w.detach("n1"); w.detach("n2") }, DefaultRules.Vouch - 1, Active},
		{"away for too long", func(w *world, _ core.Run) { w.detach("n1"); w.detach("n2") }, DefaultRules.Vouch, Draining},
		{"back and asked again", func(w *world, run core.Run) {
			w.detach("n2")
			w.pass(DefaultRules.Vouch)
			if got := asks(w.begin("n2", core.Report{Agent: "a"}), run); len(got) != 1 {
				w.t.Fatalf("asked %v", got)
			}
		}, DefaultRules.Vouch - 1, Active},
		{"older agents", func(w *world, _ core.Run) { w.attach("n1"); w.attach("n2") }, 1, Draining},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, j, _ := vouching(t)
			w.pass(time.Second)
			w.complete()
			tt.then(w, j.Run)
			w.pass(tt.wait)
			w.complete()
			w.want(j.Run, tt.want)
		})
	}
}

// A node's word keeps no more than its own joins, and no longer than other evidence allows.
func TestANodesWordIsBounded(t *testing.T) {
	type fixture struct {
		w    *world
		job  core.Job
		held core.Held
	}
	for _, tt := range []struct {
		name string
		say  func(f fixture) // after the nodes said that they see it
		want State
	}{
		{"their word", func(fixture) {}, Active},
		{"a VNI that the job was not given", func(f fixture) {
			f.w.tell("n2", core.Held{Run: f.job.Run, VNIs: f.held.VNIs, State: core.HeldReady, Life: core.LifeNone})
			f.held.VNIs = append(slices.Clone(f.held.VNIs), 1100)
			f.w.tell("n1", core.Held{Run: f.job.Run, VNIs: f.held.VNIs, State: core.HeldReady, Life: core.LifeNone})
		}, Active},
		{"both see nothing", func(f fixture) {
			for _, n := range []string{"n1", "n2"} {
				f.w.tell(n, core.Held{Run: f.job.Run, VNIs: f.held.VNIs, State: core.HeldReady, Life: core.LifeNone})
			}
		}, Draining},
		{"a node that did not join", func(f fixture) {
			f.w.begin("n3", core.Report{Agent: "a"})
			for _, n := range []string{"n1", "n2"} {
				f.w.tell(n, core.Held{Run: f.job.Run, VNIs: f.held.VNIs, State: core.HeldReady, Life: core.LifeNone})
			}
			f.w.tell("n3", f.held)
		}, Draining},
		{"a clean-up hook", func(f fixture) { f.w.more("n1", core.Report{Epilogs: []core.JobID{f.job.JobID}}) }, Draining},
		{"the scheduler's final word", func(f fixture) { f.w.final(f.job.Run) }, Draining},
		{"the id is another's", func(f fixture) {
			o := f.job.Run
			o.UID++
			f.w.pass(time.Second)
			f.w.complete(running(o))
		}, Draining},
		{"an administrator", func(f fixture) { f.w.step(Forget{Call: 99, Job: f.job.JobID}) }, Draining},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, j, held := vouching(t)
			held.Life = core.LifeSeen
			w.pass(time.Second)
			w.complete()
			w.tell("n1", held)
			w.tell("n2", held)
			tt.say(fixture{w, j, held})
			w.pass(time.Second)
			w.complete()
			w.want(j.Run, tt.want)
		})
	}
}
