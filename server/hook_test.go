package server_test

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/server"
)

// inServer is an adapter whose hooks run in its scheduler's own server: runjob asks for room, obit tells an end.
type inServer struct{ said core.Outcome }

func (h *inServer) Parse(_ context.Context, call core.HookCall) (core.Intent, error) {
	job, run, _ := strings.Cut(string(call.Stdin), "#")
	generation, _ := strconv.Atoi(run)
	a := core.Intent{Key: core.Key{JobID: core.JobID{Scheduler: call.Scheduler, Job: job}, Generation: uint32(generation)}} //nolint:gosec // a few
	switch call.Phase {
	case "submit":
		a.Key, a.Action = core.Key{}, core.Room
	case "runjob":
		a.Action = core.Room
	case "obit":
		a.Action = core.CleanUp
	case "begin":
		a.Action = core.Prepare
	default:
		return a, core.Errorf(core.BadCall, "phase %s: there is none", call.Phase)
	}
	return a, nil
}

func (h *inServer) Render(_ context.Context, _ core.HookCall, o core.Outcome) (core.HookReply, error) {
	h.said = o
	return core.HookReply{}, nil
}

// say runs one hook; the reason of what it is told.
func say(t *testing.T, s *system, phase, job string, peer core.Peer) core.Reason {
	t.Helper()
	h := &inServer{}
	if _, err := s.Hook(t.Context(), h, map[string]int{"jobs": 76}, core.HookCall{Scheduler: "s", Phase: phase, Stdin: []byte(job), Peer: peer}); err != nil {
		t.Fatal(err)
	}
	if h.said.Err == nil {
		return ""
	}
	return h.said.Err.Reason
}

// wishes is a policy that wants so many VNIs of the pool.
type wishes struct {
	vnis    *atomic.Int32
	deny    bool
	degrade *atomic.Bool // nil: it does not
}

func (w wishes) Decide(f engine.Facts) engine.Decision {
	d := engine.Decision{Classes: core.BestEffort, Limits: make([]core.Limits, len(f.Job.Placements))}
	for range w.vnis.Load() {
		d.VNIs = append(d.VNIs, engine.Wanted{Name: "app", Pool: "jobs"})
	}
	d.Degrade = w.degrade != nil && w.degrade.Load()
	if w.deny {
		d.Deny = core.Errorf(core.PolicyDenied, "no")
	}
	return d
}

// TestRoom: the pool has 76 VNIs, and whether there is room takes none.
func TestRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var vnis atomic.Int32
		var degrade atomic.Bool
		vnis.Store(3)
		s := start(t, func(n *server.Needs) { n.Policy = wishes{vnis: &vnis, degrade: &degrade} })
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.attend(ctx, "n1", "b", make(chan core.Report))
		for i := range 25 { // 75 of 76
			if got := say(t, s, "runjob", "new", core.Peer{}); got != "" {
				t.Fatalf("with %d jobs: %s", i, got)
			}
			if _, err := s.Reserve(ctx, "n1", ask(string(rune('a'+i)), "b"), core.Peer{}); err != nil {
				t.Fatal(err)
			}
		}
		if got := say(t, s, "runjob", "new", core.Peer{}); got != core.PoolEmpty {
			t.Errorf("1 VNI is free and 3 are wanted: %q", got)
		}
		degrade.Store(true)
		if got := say(t, s, "runjob", "new", core.Peer{}); got != "" {
			t.Errorf("1 VNI is free, 3 are wanted, and policy lets the job run without: %q", got)
		}
		degrade.Store(false)
		vnis.Store(1)
		if got := say(t, s, "runjob", "new", core.Peer{}); got != "" {
			t.Errorf("1 VNI is free and 1 is wanted: %q", got)
		}
		vnis.Store(core.MaxVNIs + 1)
		if got := say(t, s, "runjob", "new", core.Peer{}); got != "" {
			t.Errorf("the policy's mistake is its prepare's to tell: %q", got)
		}
		if got := say(t, s, "runjob", "new", core.Peer{UID: 1000}); got != core.NotAllowed {
			t.Errorf("a user asks: %q", got)
		}
		if got := say(t, s, "submit", "", core.Peer{}); got != "" {
			t.Errorf("a job that has no id yet: %q", got)
		}
		if got := say(t, s, "begin", "new", core.Peer{}); got != core.NotSupported {
			t.Errorf("a prepare beside the server: %q", got)
		}
		if got := say(t, s, "nonsense", "new", core.Peer{}); got != core.BadCall {
			t.Errorf("no phase: %q", got)
		}
	})
}

// The scheduler's server says that a run is over: the reservation is, and its VNI rests until its node is clean. Another run of the id is left alone.
func TestObit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, nil)
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.attend(ctx, "n1", "b", make(chan core.Report))
		if _, err := s.Reserve(ctx, "n1", ask("7", "b"), core.Peer{}); err != nil {
			t.Fatal(err)
		}
		s.sched.mu.Lock()
		s.sched.uid = 1001
		s.sched.mu.Unlock()
		if got := say(t, s, "obit", "7", core.Peer{}); got != "" {
			t.Fatal(got)
		}
		synctest.Wait()
		if n := live(t, s, engine.Active); n != 1 {
			t.Errorf("%d active after the obit of another's job", n)
		}
		s.sched.mu.Lock()
		s.sched.uid = 1000
		s.sched.mu.Unlock()
		if got := say(t, s, "obit", "7", core.Peer{UID: 1000}); got != core.NotAllowed {
			t.Errorf("a user's: %q", got)
		}
		if got := say(t, s, "obit", "7", core.Peer{}); got != "" {
			t.Fatal(got)
		}
		synctest.Wait()
		if a, d := live(t, s, engine.Active), live(t, s, engine.Draining); a != 0 || d != 1 {
			t.Errorf("%d active, %d draining; its node still has services", a, d)
		}
	})
}
