package compare_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/policy/compare"
)

func factsOf(user, job string) engine.Facts {
	return engine.Facts{
		Job:    core.Job{Run: core.Run{Key: core.Key{JobID: core.JobID{Scheduler: "s", Job: job}}}, User: user, Placements: []core.Placement{{Hosts: "n1", Nodes: 1, Cores: 4}}},
		System: engine.System{Nodes: 8},
	}
}

// Nobody waits for it, however far it is behind; what it did not look at is counted.
func TestShadowIsInNobodysWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, next := load(t, base), load(t, base+"min_nics = 2\n")
		s, run := compare.NewStuckShadow(next, live)
		got := live.Decide(factsOf("ann", "1"))
		const jobs = 5000
		for i := range jobs {
			s.Saw(factsOf("ann", fmt.Sprint(i)), got)
		}
		if r := s.Report(); r.Jobs != 0 || r.Dropped == 0 || r.Dropped >= jobs {
			t.Errorf("%+v", r)
		}
		run()
		synctest.Wait()
		r := s.Report()
		if r.Jobs+r.Dropped != jobs || r.Changed != r.Jobs || len(r.Groups) != 1 || r.Groups[0].What != "min_nics" || r.Groups[0].Jobs != r.Jobs || len(r.Groups[0].Some) != compare.Examples {
			t.Errorf("%+v", r)
		}
		s.Close()
		s.Saw(factsOf("ann", "1"), got) // by a job that saw it before it ended
		synctest.Wait()
	})
}

// What it saw decided is not touched, and what is the same is no difference.
func TestShadowChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live := load(t, base)
		next := load(t, base+"deny \"nobody\" {\n  match { users = [\"ann\"] }\n  message = \"closed\"\n}\n")
		s := compare.NewShadow(next, live)
		defer s.Close()
		facts := factsOf("ann", "1")
		got := live.Decide(facts)
		s.Saw(facts, got)
		s.Saw(factsOf("bob", "2"), live.Decide(factsOf("bob", "2")))
		synctest.Wait()
		if d := cmp.Diff(live.Decide(factsOf("ann", "1")), got); d != "" || got.Deny != nil {
			t.Errorf("the decision is another (-want +got):\n%s", d)
		}
		if d := cmp.Diff(factsOf("ann", "1"), facts); d != "" {
			t.Errorf("the facts are others (-want +got):\n%s", d)
		}
		r := s.Report()
		if r.Jobs != 2 || r.Changed != 1 || r.Dropped != 0 || r.Policy != next.Hash() || r.Against != live.Hash() || len(r.Groups) != 1 {
			t.Fatalf("%+v", r)
		}
		g := r.Groups[0]
		if g.What != "decision" || g.In != "new" || g.By.Name != "nobody" || g.Some[0].Job != "s/1" || !strings.Contains(g.Some[0].New, "closed") {
			t.Errorf("%+v", g)
		}
	})
}

// Through a reload it goes on; another policy in force is another thing to count against.
func TestShadowAfterAReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, next := load(t, base), load(t, base+"min_nics = 2\n")
		s := compare.NewShadow(next, live)
		defer s.Close()
		facts := factsOf("ann", "1")
		s.Saw(facts, live.Decide(facts))
		synctest.Wait()
		was := s.Report()
		time.Sleep(time.Hour)
		s.Turn(load(t, base+"min_nics = 2\n"), load(t, base)) // the same, read again
		if d := cmp.Diff(was, s.Report(), cmpopts.IgnoreUnexported(compare.Group{})); d != "" || was.Changed != 1 {
			t.Errorf("after a reload of the same (-was +is):\n%s", d)
		}
		other := load(t, base+"min_nics = 3\n")
		s.Turn(next, other)
		if r := s.Report(); r.Jobs != 0 || len(r.Groups) != 0 || r.Against != other.Hash() || r.Since.Sub(was.Since) != time.Hour {
			t.Errorf("%+v", r)
		}
		s.Saw(facts, live.Decide(facts)) // it was described before the reload
		s.Saw(facts, other.Decide(facts))
		synctest.Wait()
		if r := s.Report(); r.Jobs != 1 || r.Changed != 1 || r.Dropped != 1 {
			t.Errorf("%+v", r)
		}
	})
}

// What it keeps does not grow with the jobs that come, nor with what their users write.
func TestShadowIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rules strings.Builder
		const users = compare.MaxGroups + 40
		for i := range users {
			fmt.Fprintf(&rules, "rule \"r%d\" {\n  match { users = [\"u%d\"] }\n  min_nics = 2\n}\n", i, i)
		}
		live, next := load(t, base), load(t, base+rules.String())
		s := compare.NewShadow(next, live)
		defer s.Close()
		for range 2 {
			for i := range users {
				facts := factsOf(fmt.Sprint("u", i), strings.Repeat("7", 10_000))
				s.Saw(facts, live.Decide(facts))
				synctest.Wait()
			}
		}
		r := s.Report()
		if r.Changed != 2*users || len(r.Groups) != compare.MaxGroups || r.More != 2*(users-compare.MaxGroups) {
			t.Errorf("%d changed, %d groups, %d more", r.Changed, len(r.Groups), r.More)
		}
		for _, g := range r.Groups {
			if len(g.Some) > compare.Examples || len(g.Some[0].Job) > 1000 {
				t.Fatalf("%+v", g)
			}
		}
	})
}
