package schedulertest

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
)

func statuses(a core.Jobs) map[string]core.JobState {
	out := map[string]core.JobState{}
	for _, s := range a.Jobs {
		out[s.Run.Key.String()] = s.State
	}
	return out
}

func shown(hooks []Hook) map[string]string {
	out := map[string]string{}
	for _, h := range hooks {
		out[h.Node] = h.Action.String() + " " + h.Key.String() + " for " + h.Run.Key.String()
	}
	return out
}

func TestLifeOfAJob(t *testing.T) {
	m := New("tioga", 4)
	j := m.Submit(100, 1000, core.Request{})
	first := j.Run
	for _, step := range []struct {
		name  string
		do    func() []Hook
		hooks map[string]string
		truth map[string]core.JobState
		lives bool // the first run, on n1
	}{
		{"start", func() []Hook { return m.Start(j, []string{"n1", "n2"}) },
			map[string]string{"n1": "prepare tioga/1 for tioga/1", "n2": "prepare tioga/1 for tioga/1"}, map[string]core.JobState{"tioga/1": core.JobRunning}, true},
		{"shrink: an Epilog, and the job goes on", func() []Hook { return m.Shrink(j, "n2") },
			map[string]string{"n2": "clean-up tioga/1 for tioga/1"}, map[string]core.JobState{"tioga/1": core.JobRunning}, true},
		{"requeue: the Epilog shows the next count", func() []Hook { return m.Requeue(j) },
			map[string]string{"n1": "clean-up tioga/1#1 for tioga/1"}, map[string]core.JobState{"tioga/1#1": core.JobQueued}, false},
		{"start again", func() []Hook { return m.Start(j, []string{"n1", "n3"}) },
			map[string]string{"n1": "prepare tioga/1#1 for tioga/1#1", "n3": "prepare tioga/1#1 for tioga/1#1"}, map[string]core.JobState{"tioga/1#1": core.JobRunning}, false},
		{"a node is lost: the other's Epilog shows the old count", func() []Hook { return m.Lose("n3", true) },
			map[string]string{"n1": "clean-up tioga/1#1 for tioga/1#1"}, map[string]core.JobState{"tioga/1#2": core.JobQueued}, false},
		{"start once more", func() []Hook { return m.Start(j, []string{"n1"}) },
			map[string]string{"n1": "prepare tioga/1#2 for tioga/1#2"}, map[string]core.JobState{"tioga/1#2": core.JobRunning}, false},
		{"end", func() []Hook { return m.End(j) },
			map[string]string{"n1": "clean-up tioga/1#2 for tioga/1#2"}, map[string]core.JobState{"tioga/1#2": core.JobFinal}, false},
		{"forget", func() []Hook { m.Forget(j); return nil }, map[string]string{}, map[string]core.JobState{}, false},
	} {
		if diff := cmp.Diff(step.hooks, shown(step.do())); diff != "" {
			t.Errorf("%s: hooks (-want +got)\n%s", step.name, diff)
		}
		if diff := cmp.Diff(step.truth, statuses(m.Truth())); diff != "" {
			t.Errorf("%s: truth (-want +got)\n%s", step.name, diff)
		}
		if got := m.Lives(first, "n1"); got != step.lives {
			t.Errorf("%s: the first run lives on n1: %v", step.name, got)
		}
	}
}

func TestIDsRecur(t *testing.T) {
	m := New("tioga", 4)
	old := m.Submit(100, 1000, core.Request{}).Run
	m.Rebuild()
	now := m.Submit(200, 1001, core.Request{}).Run
	if old.Key != now.Key || old.Fingerprint == now.Fingerprint {
		t.Errorf("%+v, then %+v: the id recurs, the fingerprint does not", old, now)
	}
}

func TestLies(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	m := New("tioga", 4)
	j := m.Submit(100, 1000, core.Request{})
	m.Start(j, []string{"n1"})
	m.Requeue(j)
	m.Start(j, []string{"n2"})
	truth := m.Truth()
	differs := map[Lie]bool{}
	for lie := Honest; lie < numLies; lie++ {
		for range 50 {
			a := m.Answer(lie, rng)
			if !a.Complete || a.Asking {
				t.Fatalf("%v: %+v is no complete answer", lie, a)
			}
			if cmp.Diff(truth, a) != "" {
				differs[lie] = true
			}
		}
	}
	if differs[Honest] {
		t.Error("an honest answer is not the truth")
	}
	for lie := Honest + 1; lie < numLies; lie++ {
		if !differs[lie] {
			t.Errorf("%v: it is the truth all the same", lie)
		}
	}
	if diff := cmp.Diff(truth, m.Truth()); diff != "" {
		t.Errorf("lying changed the truth:\n%s", diff)
	}
}

func TestDescribe(t *testing.T) {
	m := New("tioga", 4)
	j := m.Submit(100, 1000, core.Request{})
	early := j.Key
	m.Start(j, []string{"n1", "n2"})
	got, err := m.Describe(early, Honest, nil)
	want := core.Job{Run: j.Run, GID: 1000, Placements: []core.Placement{{Hosts: "n1,n2", Nodes: 2, Cores: 4}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	m.Requeue(j)
	if got, err := m.Describe(early, Honest, nil); err != nil || !got.Gone {
		t.Errorf("an earlier count is described as %+v, %v; want it gone", got, err)
	}
	if _, err := m.Describe(core.Key{JobID: core.JobID{Scheduler: "tioga", Job: "9"}}, Honest, nil); !errors.Is(err, core.NotFound) {
		t.Errorf("an unknown job: %v", err)
	}
}

func TestMuddle(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	hooks := []Hook{{Node: "n1"}, {Node: "n2"}, {Node: "n3"}}
	lengths := map[int]bool{}
	for range 200 {
		lengths[len(Muddle(hooks, rng))] = true
	}
	if !lengths[2] || !lengths[3] || !lengths[4] {
		t.Errorf("lengths %v: some hooks must come twice, and some never", lengths)
	}
}
