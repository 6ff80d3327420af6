package server_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/server"
)

// ended are the jobs that the scheduler ended so far.
func (s *system) ended() string {
	synctest.Wait()
	s.sched.mu.Lock()
	defer s.sched.mu.Unlock()
	return strings.Join(s.sched.failed, "; ")
}

// TestRoomCountsJobsThatBegin: a scheduler starts many jobs in a moment, and each asks for its VNI later.
func TestRoomCountsJobsThatBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, nil)
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.attend(ctx, "n1", "b", make(chan core.Report))
		for i := range 76 {
			if got := say(t, s, "runjob", fmt.Sprint(i), core.Peer{}); got != "" {
				t.Fatalf("job %d: %s", i, got)
			}
		}
		if got := say(t, s, "runjob", "7", core.Peer{}); got != "" {
			t.Errorf("a job that asks again: %q", got)
		}
		if _, err := s.Reserve(ctx, "n1", ask("3", "b"), core.Peer{}); err != nil {
			t.Error(err)
		}
		if got := say(t, s, "runjob", "76", core.Peer{}); got != core.PoolEmpty {
			t.Errorf("76 VNIs, one granted, and 75 jobs that begin: %q", got)
		}
		time.Sleep(31 * time.Second) // those never began
		if got := say(t, s, "runjob", "76", core.Peer{}); got != "" {
			t.Errorf("76 VNIs, and one granted: %q", got)
		}
		if got := s.ended(); got != "" {
			t.Errorf("ended: %s", got)
		}
	})
}

// bounded is a policy with a quota of three VNIs, of which each job wants as many as its id says.
type bounded struct{}

func (bounded) Decide(f engine.Facts) engine.Decision {
	d := engine.Decision{Classes: core.BestEffort, Limits: make([]core.Limits, len(f.Job.Placements))}
	d.Quotas = []engine.Quota{{Name: "three", Subject: "user eva", Most: 3}}
	for range int(f.Job.Job[0] - '0') {
		d.VNIs = append(d.VNIs, engine.Wanted{Name: "app", Pool: "jobs"})
	}
	return d
}

// TestRoomOfAQuota: a job waits for a quota that other jobs fill, and ends where the quota can never hold it.
func TestRoomOfAQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, func(n *server.Needs) { n.Policy = bounded{} })
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.attend(ctx, "n1", "b", make(chan core.Report))
		if _, err := s.Reserve(ctx, "n1", ask("1", "b"), core.Peer{}); err != nil {
			t.Error(err)
		}
		for _, row := range []struct {
			job  string
			want core.Reason
		}{{"1b", ""}, {"2", core.QuotaFull}, {"1c", ""}, {"1d", core.QuotaFull}} {
			if got := say(t, s, "runjob", row.job, core.Peer{}); got != row.want {
				t.Errorf("job %s: %q, want %q", row.job, got, row.want)
			}
		}
		if got := s.ended(); got != "" {
			t.Errorf("ended: %s", got)
		}
		if got := say(t, s, "runjob", "4", core.Peer{}); got != core.OverQuota || !strings.HasPrefix(s.ended(), "4: ") {
			t.Errorf("four VNIs of three: %q, ended: %q", got, s.ended())
		}
	})
}

// fickle is a policy that denies while it says so.
type fickle struct{ deny *atomic.Pointer[core.Error] }

func (p fickle) Decide(f engine.Facts) engine.Decision {
	if err := p.deny.Load(); err != nil {
		return engine.Decision{Deny: err}
	}
	return generous{}.Decide(f)
}

// TestRoomEndsAJobThatPolicyDenies: its comment says why, and it waits no longer. A policy that lacks a fact decides
// when the job begins.
func TestRoomEndsAJobThatPolicyDenies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var deny atomic.Pointer[core.Error]
		s := start(t, func(n *server.Needs) { n.Policy = fickle{&deny} })
		defer s.stop()
		deny.Store(core.Errorf(core.PolicyFault, "time_limit is unknown"))
		if got := say(t, s, "runjob", "7#1", core.Peer{}); got != "" || s.ended() != "" {
			t.Errorf("a fact that is unknown: %q, ended: %q", got, s.ended())
		}
		deny.Store(core.Errorf(core.PolicyDenied, "not you"))
		for range 2 {
			if got := say(t, s, "runjob", "7#1", core.Peer{}); got != core.PolicyDenied {
				t.Errorf("denied: %q", got)
			}
		}
		if got := s.ended(); !strings.HasPrefix(got, "7: not you") || strings.Contains(got, "; 7") {
			t.Errorf("ended: %q", got)
		}
	})
}

// TestRoomKnowsTheLastRun: a node sent a job back, and its scheduler tries the job again at once.
func TestRoomKnowsTheLastRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var deny atomic.Pointer[core.Error]
		s := start(t, func(n *server.Needs) { n.Policy = fickle{&deny} })
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.attend(ctx, "n1", "b", make(chan core.Report))
		refused := func(job string, run uint32, why core.Reason) {
			t.Helper()
			deny.Store(core.Errorf(why, "no"))
			in := ask(job, "b")
			in.Key.Generation = run
			if _, err := s.Reserve(ctx, "n1", in, core.Peer{}); core.ReasonOf(err) != why {
				t.Errorf("job %s: %v, want %s", job, err, why)
			}
			deny.Store(nil)
		}
		room := func(job string, want core.Reason) {
			t.Helper()
			if got := say(t, s, "runjob", job, core.Peer{}); got != want {
				t.Errorf("job %s: %q, want %q", job, got, want)
			}
		}
		refused("7", 1, core.PolicyDenied)
		room("7#2", core.PolicyDenied)
		room("7#3", "") // of another run's refusal
		refused("8", 1, core.OverQuota)
		room("8#2", "")
		refused("9", 1, core.NodeAway)
		room("9#2", "")
		refused("9", 5, core.NodeAway) // the scheduler holds a job after 21 runs
		room("9#6", core.NodeAway)
		time.Sleep(time.Minute + time.Second)
		room("7#2", "")
		room("9#6", "")
		for job, want := range map[string]int{"7: ": 2, "8: ": 1, "9: ": 0} { // the first of each by its node's refusal
			if got := s.ended(); strings.Count(got, job) != want {
				t.Errorf("ended: %q, want %s%d times", got, job, want)
			}
		}
	})
}
