package agent_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook/rundir"
)

// asker is a scheduler's half that asks once in each Watch, and tells how long the server took to note that.
type asker struct {
	core.Scheduler
	waited chan time.Duration
}

func (q *asker) Watch(ctx context.Context, tell func(core.Jobs) error) error {
	began := time.Now()
	err := tell(core.Jobs{Asking: true})
	if err == nil {
		<-ctx.Done()
		err = ctx.Err()
	}
	select {
	case q.waited <- time.Since(began):
	default:
	}
	return err
}

// A question that the server has not noted ends with the session that it went out in, so that it is asked anew in the next.
func TestAQuestionEndsWithItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &asker{waited: make(chan time.Duration, 8)}
		server := &authority{orders: make(chan core.Orders), cut: make(chan error)}
		run(t, agent.Needs{Authority: server, Schedulers: map[string]core.SchedulerClient{"f": core.Dispatcher{Of: q}}})
		time.Sleep(2 * time.Second)
		select {
		case d := <-q.waited:
			t.Fatalf("it waited %v for a session that stands", d)
		default:
		}
		server.cut <- core.Errorf(core.ServerAway, "server: gone")
		if d := <-q.waited; d > 2*time.Second {
			t.Errorf("it waited %v, beyond its session of 2 s", d)
		}
	})
}

// A half is followed again as soon as a server answers, however long an outage has made the pauses, and in its session.
func TestAWatchBeginsWithItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &asker{waited: make(chan time.Duration, 8)}
		server := &authority{orders: make(chan core.Orders), cut: make(chan error)}
		run(t, agent.Needs{Authority: server, Schedulers: map[string]core.SchedulerClient{"f": core.Dispatcher{Of: q}}})
		down := func(yes bool) {
			server.mu.Lock()
			defer server.mu.Unlock()
			server.down = yes
		}
		questions := func() (n int) {
			for _, r := range server.said() {
				if r.Answer != nil && r.Answer.Jobs.Asking {
					n++
				}
			}
			return n
		}
		time.Sleep(time.Second)
		for i := 1; i <= 3; i++ {
			if got := questions(); got != i {
				t.Fatalf("%d questions, want %d", got, i)
			}
			down(true)
			server.cut <- core.Errorf(core.ServerAway, "server: gone")
			time.Sleep(time.Minute)
			down(false)
			sessions := len(server.said())
			for len(server.said()) == sessions {
				time.Sleep(time.Second)
			}
			time.Sleep(time.Second)
		}
	})
}

// How long a job's start waits for a server that is away is the hook's limit and nothing else: Slurm's Prolog with PrologFlags=Alloc may wait 120 s.
func TestAPrepareWaitsAsLongAsItsHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.server.slow = 110 * time.Second
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		if out := r.Do(ctx, ask(core.Prepare, "s", "1", 7), root); out.Err != nil {
			t.Errorf("a server that takes 110 s of 120: %v", out.Err)
		}
		began := time.Now()
		if out := r.Do(t.Context(), ask(core.Prepare, "s", "2", 7), root); out.Err == nil || time.Since(began) > agent.DefaultLimits.Hook {
			t.Errorf("a hook with no limit of its own: %v after %v", out.Err, time.Since(began))
		}
	})
}

// A hook that waits has the server tried at once, however long an outage has made the pauses, and once a second at most.
func TestAHookWakesTheLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.server.cut = make(chan error)
		r.stop()
		r.begin(t)
		r.server.mu.Lock()
		r.server.down, r.server.slow = true, time.Hour
		r.server.mu.Unlock()
		r.server.cut <- core.Errorf(core.ServerAway, "server: gone")
		time.Sleep(time.Hour)
		for range 20 { // wherever in the pause it comes
			time.Sleep(20 * time.Second)
			r.server.mu.Lock()
			r.server.tried = nil
			r.server.mu.Unlock()
			began := time.Now()
			if out := r.Do(t.Context(), ask(core.Prepare, "s", "1", 7), root); out.Err == nil {
				t.Error("it was granted by a server that is away")
			}
			r.server.mu.Lock()
			tried := r.server.tried
			r.server.mu.Unlock()
			if len(tried) < 3 || len(tried) > 8 || tried[0].Sub(began) > 2*time.Second {
				t.Fatalf("in the 8 s of a hook the server was tried at %v, from %v on", tried, began)
			}
			for i := 1; i < len(tried); i++ {
				if d := tried[i].Sub(tried[i-1]); d < time.Second {
					t.Errorf("tried again after %v", d)
				}
			}
		}
	})
}

// A job that ended while the server was away is told within 2 s of its return, after any outage. A node with nothing to
// tell keeps to its pauses.
func TestAnEndedJobWakesTheLink(t *testing.T) {
	for _, c := range []struct {
		name        string
		ends        bool
		refusal     *core.Error   // nil: the server is away
		least, most time.Duration // from one attempt to the next
	}{
		{"a job ended", true, nil, time.Second, 2 * time.Second},
		{"a job ended, and the server refuses the node", true, core.Errorf(core.NotAllowed, "no"), 2 * time.Second, 6 * time.Second},
		{"nothing is new", false, nil, 2 * time.Second, 6 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t)
				r.server.cut = make(chan error)
				r.stop()
				r.begin(t)
				if out := r.Do(t.Context(), ask(core.Prepare, "s", "1", 7), root); out.Err != nil {
					t.Fatal(out.Err)
				}
				r.server.mu.Lock()
				r.server.down, r.server.refusal = true, c.refusal
				r.server.mu.Unlock()
				r.server.cut <- core.Errorf(core.ServerAway, "server: gone")
				time.Sleep(time.Hour)
				r.server.mu.Lock()
				r.server.tried = nil
				r.server.mu.Unlock()
				last := time.Now()
				if c.ends {
					if out := r.Do(t.Context(), ask(core.CleanUp, "s", "1", 7), root); out.Err != nil || out.Pending {
						t.Fatal(out)
					}
				}
				time.Sleep(10 * time.Minute)
				r.server.mu.Lock()
				tried, heard := r.server.tried, len(r.server.reports)
				r.server.down = false
				r.server.mu.Unlock()
				for i, at := range tried {
					if d := at.Sub(last); d > c.most || i > 0 && d < c.least {
						t.Fatalf("attempt %d after %v, want %v to %v", i, d, c.least, c.most)
					}
					last = at
				}
				time.Sleep(c.most)
				said := r.server.said()[heard:]
				if len(said) == 0 || c.ends && (len(said[0].Held) != 1 || said[0].Held[0].State != core.HeldClean) {
					t.Errorf("within %v of the server's return the node says %+v", c.most, said)
				}
			})
		})
	}
}

// An agent that hung tells in the session that went on which hooks failed meanwhile, once.
func TestAHungAgentTellsWhichHooksFailed(t *testing.T) {
	dir := rundir.Dir(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		server := &authority{orders: make(chan core.Orders), cut: make(chan error)}
		run(t, agent.Needs{Authority: server, Rundir: dir})
		told := func() (all []core.Unanswered) {
			for _, r := range server.said() {
				all = append(all, r.Unanswered...)
			}
			return all
		}
		time.Sleep(2 * time.Minute)
		if err := dir.NoteUnanswered(time.Unix(1000, 0), "slurm", "prolog of job 7"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Minute)
		want := []core.Unanswered{{Scheduler: "slurm", Why: "prolog of job 7", From: 1000, Until: 1000}}
		if diff := cmp.Diff(want, told()); diff != "" {
			t.Error(diff)
		}
	})
}
