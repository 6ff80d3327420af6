package server_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/dev/schedulertest"
	"github.com/weft-hpc/weft/server"
)

// moody is a scheduler that resumes nodes, and does not take what it is told at first.
type moody struct {
	scheduler
	fails int
	heard []string
}

func (m *moody) hear(what string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.heard = append(m.heard, what)
	if m.fails > 0 {
		m.fails--
		return errors.New("slurmctld does not answer")
	}
	return nil
}

func (m *moody) Drain(_ context.Context, node, reason string) error {
	return m.hear("drain " + node + " " + reason)
}
func (m *moody) Resume(_ context.Context, node string) error { return m.hear("resume " + node) }

// TestResumeGoesToEveryScheduler, also where the first word of the drain before it was not taken: the newest word is the last that a scheduler hears. One that
// resumes nothing is told nothing.
func TestResumeGoesToEveryScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sick := &moody{scheduler: scheduler{Script: make(schedulertest.Script)}, fails: 2}
		well := &moody{scheduler: scheduler{Script: make(schedulertest.Script)}}
		s := start(t, func(n *server.Needs) {
			n.Schedulers["sick"], n.Schedulers["well"] = core.Dispatcher{Of: sick}, core.Dispatcher{Of: well}
			n.Config.Schedulers = append(n.Config.Schedulers, "sick", "well")
		})
		defer s.stop()
		s.attend(t.Context(), "n1", "b", nil)
		set := func(reason string) {
			t.Helper()
			if _, err := s.Do(t.Context(), func(call uint64) engine.Input { return engine.SetDrain{Call: call, Node: "n1", Reason: reason} }); err != nil {
				t.Fatal(err)
			}
		}
		set("cable")
		set("")
		set("fan")
		set("")
		set("") // nothing changes in Weft, but whoever says it again wants it told again
		time.Sleep(10 * server.DefaultLimits.Describe)
		synctest.Wait()
		want := []string{"drain n1 cable", "resume n1", "drain n1 fan", "resume n1", "resume n1"}
		if diff := cmp.Diff(want, well.heard); diff != "" {
			t.Errorf("one that answers: %s", diff)
		}
		if diff := cmp.Diff(append([]string{want[0], want[0]}, want...), sick.heard); diff != "" {
			t.Errorf("one that did not at first: %s", diff)
		}
		if len(s.sched.drained) != 2 {
			t.Errorf("one that resumes nothing: %q", s.sched.drained)
		}
	})
}

// TestOneSchedulerThatLacksTheNodeIsToldOnce, though its list never shows the drain.
func TestOneSchedulerThatLacksTheNodeIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		without := &mirrored{scheduler: scheduler{Script: make(schedulertest.Script)}, lacks: "n1"}
		s := start(t, func(n *server.Needs) {
			n.Config.Nodes = []string{"n1"}
			n.Schedulers["without"] = core.Dispatcher{Of: without}
			n.Config.Schedulers = append(n.Config.Schedulers, "without")
		})
		defer s.stop()
		if _, err := s.Do(t.Context(), func(call uint64) engine.Input {
			return engine.SetDrain{Call: call, Node: "n1", Reason: "fan"}
		}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * server.DefaultLimits.Mirror)
		synctest.Wait()
		if without.refused != 1 {
			t.Errorf("it was told %d times", without.refused)
		}
	})
}

// TestASlowDrainIsToldOnce: a list that was asked for before the scheduler took the drain is no reason to repeat it. The
// second call would come after a person's resume.
func TestASlowDrainIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const late = 500 * time.Millisecond
		l := server.DefaultLimits
		slow := &mirrored{scheduler: scheduler{Script: make(schedulertest.Script)}, shown: map[string]core.Drain{}}
		slow.slow = l.Mirror + late // of which one list more hears nothing
		s := start(t, func(n *server.Needs) {
			n.Config.Nodes = []string{"n1"}
			n.Schedulers["slow"] = core.Dispatcher{Of: slow}
			n.Config.Schedulers = append(n.Config.Schedulers, "slow")
		})
		defer s.stop()
		if _, err := s.Do(t.Context(), func(call uint64) engine.Input {
			return engine.SetDrain{Call: call, Node: "n1", Reason: "fan"}
		}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2*l.Mirror + late/2) // a list shows it
		synctest.Wait()
		if err := slow.Resume(t.Context(), "n1"); err != nil { // by a person
			t.Fatal(err)
		}
		time.Sleep(6 * l.Mirror)
		synctest.Wait()
		verbs := &server.Verbs{Server: s.Server}
		if got := row(t, verbs, "n1"); got.Drained != "" || len(slow.shown) > 0 {
			t.Errorf("n1 is drained for %q, and in its scheduler %v", got.Drained, slow.shown)
		}
	})
}
