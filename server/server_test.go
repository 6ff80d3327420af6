package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/allocator"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/dev/schedulertest"
	"github.com/weft-hpc/weft/server"
	"github.com/weft-hpc/weft/store/memory"
	"github.com/weft-hpc/weft/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// system is a server in a bubble of fake time, with what is around it in the test's hands.
type system struct {
	*server.Server
	store *storetest.Hooked
	sched *scheduler
	stop  func()

	allocator func(engine.Config) (engine.Allocator, error)
}

// scheduler describes whatever it is asked for, as its fields say.
type scheduler struct {
	mu      sync.Mutex
	asked   int
	hang    chan struct{} // Describe waits for it
	hosts   string
	uid     uint32
	failed  []string
	drained []string
	schedulertest.Script
}

func (s *scheduler) Describe(ctx context.Context, key core.Key, _ []byte, _ core.Peer) (core.Job, error) {
	s.mu.Lock()
	s.asked++
	hang := s.hang
	s.mu.Unlock()
	if hang != nil {
		select {
		case <-hang:
		case <-ctx.Done():
			return core.Job{}, ctx.Err()
		}
	}
	return core.Job{
		Run:        core.Run{Key: key, Fingerprint: core.Fingerprint{UID: s.uid, Submitted: 1}},
		Placements: []core.Placement{{Hosts: s.hosts, Nodes: 4, Cores: 8}},
	}, nil
}

func (s *scheduler) Fail(_ context.Context, key core.Key, reason string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = append(s.failed, key.Job+": "+reason)
	return nil
}

func (s *scheduler) Drain(_ context.Context, node, reason string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drained = append(s.drained, node+": "+reason)
	return nil
}

// generous grants every job one VNI, unless its owner is denied.
type generous struct{ deny uint32 }

func (g generous) Decide(f engine.Facts) engine.Decision {
	if g.deny != 0 && f.Job.UID == g.deny {
		return engine.Decision{Deny: core.Errorf(core.PolicyDenied, "policy: uid %d gets nothing", f.Job.UID)}
	}
	return engine.Decision{VNIs: []engine.Wanted{{Name: "app", Pool: "jobs"}}, Classes: core.BestEffort, Limits: make([]core.Limits, len(f.Job.Placements))}
}

func start(t *testing.T, change func(*server.Needs)) *system {
	t.Helper()
	pools := []allocator.Pool{{Name: "jobs", Ranges: []allocator.Range{{First: 1024, Last: 1099}}}}
	s := &system{store: &storetest.Hooked{Store: memory.New()}, sched: &scheduler{hosts: "n[1-400]", uid: 1000, Script: make(schedulertest.Script)}}
	needs := server.Needs{
		Store: s.store, Policy: generous{}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Schedulers: map[string]core.SchedulerClient{"s": core.Dispatcher{Of: s.sched}},
		Allocator:  func(engine.Config) (engine.Allocator, error) { return allocator.New(pools) },
		Config: engine.Config{
			Schedulers: []string{"s"},
			Pools:      []engine.Pool{{Name: "jobs", Quarantine: time.Minute, Contains: func(v core.VNI) bool { return v >= 1024 && v <= 1099 }}},
		},
	}
	if change != nil {
		change(&needs)
	}
	s.allocator = needs.Allocator
	var err error
	if s.Server, err = server.New(t.Context(), needs); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Run(ctx)
	}()
	s.stop = func() { cancel(); <-done }
	return s
}

// attend keeps a session of a node; its orders come to the channel.
func (s *system) attend(ctx context.Context, node, boot string, next <-chan core.Report) (orders chan core.Orders, ended chan error) {
	orders, ended = make(chan core.Orders, 64), make(chan error, 1)
	go func() {
		ended <- s.Attend(ctx, node, core.Report{Number: 1, Boot: boot, Agent: boot, Full: true, Devices: []string{"cxi0"}}, next, func(o core.Orders) { orders <- o })
	}()
	synctest.Wait()
	return orders, ended
}

func ask(job, boot string) core.Intent {
	return core.Intent{Action: core.Prepare, Key: core.Key{JobID: core.JobID{Scheduler: "s", Job: job}}, UID: 1000, Boot: boot, Agent: boot}
}

func TestManyNodesOfAJobAskTheSchedulerOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, nil)
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		const nodes = 300
		for i := range nodes {
			s.attend(ctx, fmt.Sprintf("n%d", i+1), "b", nil)
		}
		s.sched.hang = make(chan struct{})
		grants := make(chan core.Grant, nodes)
		var all sync.WaitGroup
		for i := range nodes {
			all.Go(func() {
				g, err := s.Reserve(ctx, fmt.Sprintf("n%d", i+1), ask("7", "b"), core.Peer{})
				if err != nil {
					t.Error(err)
				}
				grants <- g
			})
		}
		synctest.Wait()
		close(s.sched.hang)
		all.Wait()
		first := <-grants
		for range nodes - 1 {
			if g := <-grants; !slices.Equal(g.VNIs, first.VNIs) || g.Run != first.Run {
				t.Fatalf("two nodes of one job got %v of %v and %v of %v", first.VNIs, first.Run, g.VNIs, g.Run)
			}
		}
		if s.sched.asked != 1 {
			t.Errorf("the scheduler was asked %d times for one job", s.sched.asked)
		}
		if first.Head.Revision == 0 {
			t.Error("a grant does not say which store made it")
		}
	})
}

func TestAHungSchedulerCostsItsOwnJobsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hung := &scheduler{hang: make(chan struct{})}
		s := start(t, func(n *server.Needs) {
			n.Schedulers["hung"] = core.Dispatcher{Of: hung}
			n.Config.Schedulers = append(n.Config.Schedulers, "hung")
		})
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.attend(ctx, "n1", "b", nil)
		late := make(chan error, 1)
		began := time.Now()
		go func() {
			a := ask("1", "b")
			a.Key.Scheduler = "hung"
			_, err := s.Reserve(ctx, "n1", a, core.Peer{})
			late <- err
		}()
		synctest.Wait()
		if _, err := s.Reserve(ctx, "n1", ask("1", "b"), core.Peer{}); err != nil {
			t.Errorf("the other scheduler's job: %v", err)
		}
		if d := time.Since(began); d > 0 {
			t.Errorf("the other scheduler's job waited %s", d)
		}
		err := <-late
		if e := core.AsError(err); e == nil || e.Reason != core.SchedulerAway {
			t.Errorf("the hung scheduler's job got %v, want %s", err, core.SchedulerAway)
		}
		if d := time.Since(began); d > server.DefaultLimits.Describe {
			t.Errorf("it was told after %s", d)
		}
	})
}

func TestAFailedCommitGrantsNothingAndLosesNothing(t *testing.T) {
	for name, after := range map[string]bool{"nothing was written": false, "all was written and the answer lost": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := start(t, nil)
				defer s.stop()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				_, ended := s.attend(ctx, "n1", "b", nil)
				var full atomic.Bool
				full.Store(true)
				fail := func([]engine.Record) error {
					if full.Load() {
						return errors.New("no space left on device")
					}
					return nil
				}
				if after {
					s.store.After = fail
				} else {
					s.store.Before = fail
				}
				_, err := s.Reserve(ctx, "n1", ask("1", "b"), core.Peer{})
				if e := core.AsError(err); e == nil || e.Reason != core.StoreFailed {
					t.Fatalf("got %v, want %s", err, core.StoreFailed)
				}
				if err := <-ended; err == nil {
					t.Error("the session outlived the machine that knew it")
				}
				synctest.Wait() // the session's end is an input too, for which the store is loaded anew
				if s.Failure() == nil {
					t.Error("nobody can see that the store fails")
				}
				full.Store(false)
				time.Sleep(2 * server.DefaultLimits.Tick)
				s.attend(ctx, "n1", "b", nil)
				g, err := s.Reserve(ctx, "n1", ask("1", "b"), core.Peer{})
				if err != nil {
					t.Fatal(err)
				}
				h, err := s.Reserve(ctx, "n1", ask("2", "b"), core.Peer{})
				if err != nil {
					t.Fatal(err)
				}
				if slices.Equal(g.VNIs, h.VNIs) {
					t.Errorf("two jobs got %v", g.VNIs)
				}
				if s.Failure() != nil {
					t.Errorf("the store is back and still called failed: %v", s.Failure())
				}
			})
		})
	}
}

func TestNothingIsAnsweredBeforeItIsDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, nil)
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.attend(ctx, "n1", "b", nil)
		var answered atomic.Bool
		gate := make(chan struct{})
		s.store.Before = func([]engine.Record) error { <-gate; return nil }
		done := make(chan error, 1)
		go func() {
			_, err := s.Reserve(ctx, "n1", ask("1", "b"), core.Peer{})
			answered.Store(true)
			done <- err
		}()
		synctest.Wait()
		if answered.Load() {
			t.Error("the grant was answered while its commit was under way")
		}
		close(gate)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestANewerSessionEndsTheOlder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, nil)
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, old := s.attend(ctx, "n1", "b", nil)
		s.attend(ctx, "n1", "b", nil)
		if err := <-old; core.AsError(err).Reason != core.Cancelled {
			t.Errorf("the older session ended with %v", err)
		}
		if _, err := s.Reserve(ctx, "n1", ask("1", "b"), core.Peer{}); err != nil {
			t.Errorf("the newer session's node: %v", err)
		}
	})
}

func TestADeniedJobIsToldToItsSchedulerAndCostsNoNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, func(n *server.Needs) { n.Policy = generous{deny: 1000} })
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.attend(ctx, "n1", "b", nil)
		_, err := s.Reserve(ctx, "n1", ask("1", "b"), core.Peer{})
		if e := core.AsError(err); e == nil || e.Scope() != core.ScopeJob {
			t.Errorf("got %v, want a failure of scope job", err)
		}
		synctest.Wait()
		if len(s.sched.failed) != 1 || len(s.sched.drained) != 0 {
			t.Errorf("failed %q, drained %q", s.sched.failed, s.sched.drained)
		}
	})
}

func TestWhatANodeSendsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, nil)
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.attend(ctx, "n1", "b", nil)
		in := ask("1", "b")
		for size, want := range map[int]core.Reason{core.MaxNote: "", core.MaxNote + 1: core.BadCall} {
			in.Note = make([]byte, size)
			if _, err := s.Reserve(ctx, "n1", in, core.Peer{}); core.ReasonOf(err) != want {
				t.Errorf("a note of %d bytes: %v, want reason %q", size, err, want)
			}
		}
		ended := make(chan core.Report)
		close(ended)
		for _, node := range []string{"", "n1\x1b[2J", strings.Repeat("n", core.MaxNodeName+1)} {
			if err := s.Attend(ctx, node, core.Report{}, ended, func(core.Orders) {}); core.ReasonOf(err) != core.BadCall {
				t.Errorf("a session of node %q: %v", node, err)
			}
			if _, err := s.Reserve(ctx, node, ask("1", "b"), core.Peer{}); core.ReasonOf(err) != core.BadCall {
				t.Errorf("a call of node %q: %v", node, err)
			}
		}
	})
}

func TestAFaultDrainsTheNodeInEveryScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := &scheduler{Script: make(schedulertest.Script)}
		s := start(t, func(n *server.Needs) {
			n.Schedulers["other"] = core.Dispatcher{Of: other}
			n.Config.Schedulers = append(n.Config.Schedulers, "other")
		})
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		next := make(chan core.Report)
		s.attend(ctx, "n1", "b", next)
		next <- core.Report{Number: 2, Boot: "b", Fault: "cxi2 fails"}
		synctest.Wait()
		for _, sched := range []*scheduler{s.sched, other} {
			if len(sched.drained) != 1 || sched.drained[0] != "n1: cxi2 fails" {
				t.Errorf("drained %q", sched.drained)
			}
		}
	})
}

func TestAForwardedQuestionIsHeardBeforeItsAnswerCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, func(n *server.Needs) { n.Own = []string{"s"} })
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		next := make(chan core.Report)
		orders, _ := s.attend(ctx, "n1", "b", next)
		<-orders
		grant, err := s.Reserve(ctx, "n1", ask("1", "b"), core.Peer{})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		none := core.Report{Answer: &core.Forward{Scheduler: "s", Ask: 1, Jobs: core.Jobs{Complete: true}}}
		next <- none // an answer to no question
		asking := core.Report{Answer: &core.Forward{Scheduler: "s", Ask: 2, Jobs: core.Jobs{Asking: true}}}
		for range 2 {
			time.Sleep(time.Second)
			next <- asking
			if o := <-orders; o.Heard != 2 {
				t.Fatalf("heard %d, want 2", o.Heard)
			}
			if got := live(t, s, engine.Active); got != 1 {
				t.Fatalf("%d reservations are active before two answers lack the job", got)
			}
			next <- none
			synctest.Wait()
			if o := <-orders; len(o.Vouch) == 1 { // the node sees nothing of the job
				next <- core.Report{Number: 2, Boot: "b", Held: []core.Held{
					{Run: o.Vouch[0], VNIs: grant.VNIs, State: core.HeldReady, Life: core.LifeNone},
				}}
			}
		}
		if got := live(t, s, engine.Draining); got != 1 {
			t.Errorf("%d reservations are draining after two complete answers lacked the job", got)
		}
	})
}

func live(t *testing.T, s *system, state engine.State) (n int) {
	t.Helper()
	if err := s.Look(t.Context(), func(m *engine.Machine) { n = m.Figures().Reservations[state] }); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAfterTheEndNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.sched.hang = make(chan struct{})
		_, ended := s.attend(ctx, "n1", "b", nil)
		waiting := make(chan error, 1)
		go func() {
			_, err := s.Reserve(ctx, "n1", ask("1", "b"), core.Peer{})
			waiting <- err
		}()
		synctest.Wait()
		s.stop()
		if err := <-waiting; !errors.Is(err, core.Unavailable) {
			t.Errorf("a call in flight got %v", err)
		}
		if err := <-ended; err == nil {
			t.Error("a session ended without a word")
		}
		if _, err := s.Reserve(ctx, "n1", ask("2", "b"), core.Peer{}); !errors.Is(err, core.Unavailable) {
			t.Errorf("a call after the end got %v", err)
		}
	})
}

func TestAReloadKeepsWhatIsHeldOutsideTheNewPools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, nil)
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.attend(ctx, "n1", "b", nil)
		g, err := s.Reserve(ctx, "n1", ask("1", "b"), core.Peer{})
		if err != nil {
			t.Fatal(err)
		}
		pools := []allocator.Pool{{Name: "jobs", Ranges: []allocator.Range{{First: 2000, Last: 2001}}}}
		change := server.Change{
			Config: engine.Config{Schedulers: []string{"s"}, Pools: []engine.Pool{{Name: "jobs", Quarantine: time.Minute, Contains: func(v core.VNI) bool { return v >= 2000 && v <= 2001 }}}},
			Policy: generous{deny: 8}, Allocator: func(engine.Config) (engine.Allocator, error) { return allocator.New(pools) },
			Resize: func(a engine.Allocator) error { return a.(*allocator.Allocator).Resize(pools) },
		}
		refused := change
		refused.Resize = func(engine.Allocator) error { return errors.New("pools overlap") }
		if err := s.Reload(ctx, refused); err == nil {
			t.Error("a reload that cannot be was taken")
		}
		if err := s.Reload(ctx, change); err != nil {
			t.Fatal(err)
		}
		h, err := s.Reserve(ctx, "n1", ask("2", "b"), core.Peer{})
		if err != nil || h.VNIs[0] < 2000 {
			t.Errorf("after the reload a job got %v, %v", h.VNIs, err)
		}
		again, err := s.Reserve(ctx, "n1", ask("1", "b"), core.Peer{})
		if err != nil || !slices.Equal(again.VNIs, g.VNIs) {
			t.Errorf("a job from before has %v, %v, want %v", again.VNIs, err, g.VNIs)
		}
		s.sched.uid = 8
		denied := ask("3", "b")
		denied.UID = 8
		if _, err := s.Reserve(ctx, "n1", denied, core.Peer{}); core.AsError(err).Reason != core.PolicyDenied {
			t.Errorf("the new policy is not in force: %v", err)
		}
	})
}

// slow decides as generous does, under a name, once it may.
type slow struct {
	generous
	hash string
	may  chan struct{}
}

func (s slow) Decide(f engine.Facts) engine.Decision {
	if s.may != nil {
		<-s.may
	}
	d := s.generous.Decide(f)
	d.Policy = s.hash
	return d
}

func TestAJobKeepsTheTextOfItsPolicyThroughAnyNumberOfReloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		may := make(chan struct{})
		var config engine.Config
		s := start(t, func(n *server.Needs) {
			n.Policy, n.Config.Policy = slow{hash: "p1", may: may}, engine.Text{Hash: "p1", Text: "the first"}
			config = n.Config
		})
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.attend(ctx, "n1", "b", nil)
		granted := make(chan error, 1)
		go func() {
			_, err := s.Reserve(ctx, "n1", ask("1", "b"), core.Peer{})
			granted <- err
		}()
		synctest.Wait() // it is being decided on by the first
		for _, hash := range []string{"p2", "p3", "p4"} {
			config.Policy = engine.Text{Hash: hash, Text: "text of " + hash}
			change := server.Change{Config: config, Policy: slow{hash: hash}, Resize: func(engine.Allocator) error { return nil }}
			if err := s.Reload(ctx, change); err != nil {
				t.Fatal(err)
			}
		}
		close(may)
		if err := <-granted; err != nil {
			t.Fatal(err)
		}
		if _, err := s.Reserve(ctx, "n1", ask("2", "b"), core.Peer{}); err != nil {
			t.Fatal(err)
		}
		var of, text []string
		if err := s.Look(ctx, func(m *engine.Machine) {
			for v := range m.Reservations(0) {
				of, text = append(of, v.Grant.Policy), append(text, m.Text(v.Grant.Policy))
			}
		}); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{"p1", "p4"}, of); d != "" {
			t.Errorf("the jobs were decided on by (-want +got):\n%s", d)
		}
		if d := cmp.Diff([]string{"the first", "text of p4"}, text); d != "" {
			t.Errorf("the texts are (-want +got):\n%s", d)
		}
	})
}
