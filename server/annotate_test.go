package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/allocator"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/server"
)

// showing is a scheduler that shows grants.
type showing struct {
	*scheduler
	mu    sync.Mutex
	shown []string
	err   error
	hang  bool // it heeds its deadline, and nothing else
}

func (s *showing) Annotate(ctx context.Context, key core.Key, g core.Grant) error {
	s.mu.Lock()
	s.shown = append(s.shown, fmt.Sprintf("%s.%d: %s", key.Job, key.Generation, core.FormatVNIs(g.VNIs)))
	err, hang := s.err, s.hang
	s.mu.Unlock()
	if hang {
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

func (s *showing) so(want ...string) error {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.shown, want) {
		return fmt.Errorf("shown %q, want %q", s.shown, want)
	}
	return nil
}

// shows is a system whose scheduler shows grants.
func shows(t *testing.T, change func(*server.Needs)) (*system, *showing) {
	t.Helper()
	to := &showing{}
	return start(t, func(n *server.Needs) {
		to.scheduler = n.Schedulers["s"].(core.Dispatcher).Of.(*scheduler)
		n.Schedulers = map[string]core.SchedulerClient{"s": core.Dispatcher{Of: to}}
		if change != nil {
			change(n)
		}
	}), to
}

func must(t *testing.T, g granted) {
	t.Helper()
	if g.err != nil {
		t.Error(g.err)
	}
}

// What a job was given is shown once a run, however many nodes it has and however often they ask.
func TestAGrantIsShownOnceARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, to := shows(t, nil)
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for i := range 8 {
			s.attend(ctx, fmt.Sprintf("n%d", i+1), "b", nil)
		}
		for range 2 {
			for i := range 8 {
				must(t, <-s.reserve(ctx, fmt.Sprintf("n%d", i+1), ask("1", "b")))
			}
		}
		must(t, <-s.reserve(ctx, "n1", ask("2", "b")))
		if err := to.so("1.0: 1024", "2.0: 1025"); err != nil {
			t.Error(err)
		}
	})
}

// A server that starts anew does not know whether the newest grants were shown: it asks once more. What was shown long ago is left alone, and the nodes of a
// job that ask the new server show nothing.
func TestAGrantIsShownByTheNextServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, to := shows(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.attend(ctx, "n1", "b", nil)
		must(t, <-s.reserve(ctx, "n1", ask("1", "b")))
		time.Sleep(10 * time.Minute)
		to.hang = true // and the server ends before it is shown
		must(t, <-s.reserve(ctx, "n1", ask("2", "b")))
		must(t, <-s.reserve(ctx, "n1", ask("3", "b")))
		if err := to.so("1.0: 1024", "2.0: 1025"); err != nil {
			t.Error(err)
		}
		s.stop()
		for range 2 {
			next, to := shows(t, func(n *server.Needs) { n.Store = s.store })
			if err := to.so("2.0: 1025", "3.0: 1026"); err != nil {
				t.Errorf("after a restart: %v", err)
			}
			for i := range 2 {
				next.attend(ctx, fmt.Sprintf("n%d", i+1), "b", nil)
				for j := range 3 {
					must(t, <-next.reserve(ctx, fmt.Sprintf("n%d", i+1), ask(fmt.Sprint(j+1), "b")))
				}
			}
			if err := to.so("2.0: 1025", "3.0: 1026"); err != nil {
				t.Errorf("nodes ask anew: %v", err)
			}
			next.stop()
		}
		time.Sleep(10 * time.Minute)
		last, to := shows(t, func(n *server.Needs) { n.Store = s.store })
		defer last.stop()
		if err := to.so(); err != nil {
			t.Errorf("long after: %v", err)
		}
	})
}

// A commit whose answer was lost has granted, and nobody was told: it is shown when the store is back.
func TestAGrantIsShownWhoseCommitLostItsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, to := shows(t, nil)
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.attend(ctx, "n1", "b", nil)
		lost := true
		s.store.After = func([]engine.Record) error {
			if lost {
				lost = false
				return errors.New("the disk's answer is lost")
			}
			return nil
		}
		if g := <-s.reserve(ctx, "n1", ask("1", "b")); core.AsError(g.err).Reason != core.StoreFailed {
			t.Errorf("%v", g.err)
		}
		time.Sleep(2 * server.DefaultLimits.Tick)
		s.attend(ctx, "n1", "b", nil)
		must(t, <-s.reserve(ctx, "n1", ask("1", "b")))
		if err := to.so("1.0: 1024"); err != nil {
			t.Error(err)
		}
	})
}

// The next run of a job begins in the instant in which the run before it was prepared: what the scheduler said is too old to end that one, and it is asked
// anew after a pause, not at once and for ever.
func TestASchedulerIsAskedAnewAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, to := shows(t, nil)
		defer s.stop()
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		s.attend(ctx, "n1", "b", nil)
		must(t, <-s.reserve(ctx, "n1", ask("1", "b")))
		again := ask("1", "b")
		again.Key.Generation = 1
		began := time.Now()
		must(t, <-s.reserve(ctx, "n1", again))
		if took := time.Since(began); took <= 0 || took > time.Second {
			t.Errorf("it took %v", took)
		}
		if to.asked != 3 {
			t.Errorf("the scheduler was asked %d times, want once about the first run and twice about the next", to.asked)
		}
		if err := to.so("1.0: 1024", "1.1: 1025"); err != nil {
			t.Error(err)
		}
	})
}

func TestNothingIsShownOfAJobThatGetsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, to := shows(t, func(n *server.Needs) { n.Policy = generous{deny: 1000} })
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.attend(ctx, "n1", "b", nil)
		everyNode(t, s, 1)
		time.Sleep(time.Hour)
		if err := to.so(); err != nil {
			t.Error(err)
		}
		if len(s.sched.failed) == 0 && len(to.failed) == 0 {
			t.Error("and the job does not fail")
		}
	})
}

// A grant that the store did not take was never given.
func TestWhatIsNotDurableIsNotShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, to := shows(t, nil)
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.attend(ctx, "n1", "b", nil)
		synctest.Wait()
		s.store.Before = func([]engine.Record) error { return errors.New("disk full") }
		brief, end := context.WithTimeout(ctx, 5*time.Second)
		defer end()
		if g := <-s.reserve(brief, "n1", ask("1", "b")); g.err == nil {
			t.Errorf("granted: %+v", g)
		}
		if err := to.so(); err != nil {
			t.Error(err)
		}
	})
}

// A scheduler that does not answer holds up no job, and no more than the queue's length of grants wait for it.
func TestASlowAnnotatorHoldsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const jobs = 2000
		var log bytes.Buffer
		s, to := shows(t, func(n *server.Needs) {
			n.Log = slog.New(slog.NewTextHandler(&log, nil))
			n.Allocator = func(engine.Config) (engine.Allocator, error) {
				return allocator.New([]allocator.Pool{{Name: "jobs", Ranges: []allocator.Range{{First: 1024, Last: 9999}}}})
			}
		})
		to.hang = true
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.attend(ctx, "n1", "b", nil)
		began := time.Now()
		for i := range jobs {
			must(t, <-s.reserve(ctx, "n1", ask(fmt.Sprint(i+1), "b")))
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("%d jobs waited %v", jobs, took)
		}
		time.Sleep(2 * time.Minute)
		to.mu.Lock()
		to.hang = false
		first, tried := to.shown[0], slices.Index(to.shown, to.shown[len(to.shown)-1])
		to.mu.Unlock()
		if !strings.HasPrefix(first, "1.0") || tried < 5 {
			t.Errorf("%q", to.shown)
		}
		time.Sleep(2 * time.Minute) // it answers again: those that waited are shown
		synctest.Wait()
		to.mu.Lock()
		n := len(slices.Compact(slices.Clone(to.shown)))
		to.mu.Unlock()
		s.stop()
		if n < 1024 || n > 1040 || !strings.Contains(log.String(), "too many wait") {
			t.Errorf("%d of %d grants were shown", n, jobs)
		}
		if lines := strings.Count(log.String(), "does not show"); lines > 100 {
			t.Errorf("%d lines in the log", lines)
		}
	})
}

func TestAnAnnotatorIsAskedAFewTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, to := shows(t, nil)
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.attend(ctx, "n1", "b", nil)
		to.err = core.Errorf(core.SchedulerAway, "the broker starts")
		must(t, <-s.reserve(ctx, "n1", ask("1", "b")))
		time.Sleep(time.Hour)
		want := slices.Repeat([]string{"1.0: 1024"}, 5)
		if err := to.so(want...); err != nil {
			t.Error(err)
		}
		to.err = nil
		must(t, <-s.reserve(ctx, "n1", ask("2", "b")))
		if err := to.so(append(want, "2.0: 1025")...); err != nil {
			t.Error(err)
		}
	})
}

func TestAnAnnotatorThatCannotIsAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, to := shows(t, nil)
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.attend(ctx, "n1", "b", nil)
		to.err = core.Errorf(core.NotSupported, "it shows no grants")
		for i := range 60 {
			must(t, <-s.reserve(ctx, "n1", ask(fmt.Sprint(i+1), "b")))
			time.Sleep(time.Minute)
		}
		if err := to.so("1.0: 1024"); err != nil {
			t.Error(err)
		}
	})
}

// An agent that cannot show grants is asked once a session: the next may be of a later release.
func TestAHalfThatCannotIsAskedOnceASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, atLogin)
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.attend(ctx, "n1", "b", nil)
		job := 0
		for range 2 {
			login := s.half(ctx, "login")
			asked := 0
			for range 3 {
				job++
				wait := s.reserve(ctx, "n1", askOf("f", fmt.Sprint(job)))
				c := login.call(t)
				login.reply(core.SchedulerReply{ID: c.ID, Job: describedBy(c)})
				must(t, <-wait)
				for len(login.orders) > 0 {
					for _, c := range (<-login.orders).Calls {
						if c.Verb == core.CallAnnotate {
							asked++
							login.reply(core.SchedulerReply{ID: c.ID, Err: core.Errorf(core.NotSupported, "it shows no grants")})
						}
					}
				}
			}
			if asked != 1 {
				t.Errorf("asked %d times in one session", asked)
			}
		}
	})
}

// A half on a node is told in an order of its session, after the node has its grant.
func TestAHalfOnANodeShowsGrants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, atLogin)
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.attend(ctx, "n1", "b", nil)
		s.attend(ctx, "n2", "b", nil)
		login := s.half(ctx, "login")
		wait := s.reserve(ctx, "n1", askOf("f", "1"))
		c := login.call(t)
		login.reply(core.SchedulerReply{ID: c.ID, Job: describedBy(c)})
		must(t, <-wait)
		c = login.find(t, func(c core.SchedulerCall) bool { return c.Verb == core.CallAnnotate })
		if c.Scheduler != "f" || c.Key.Job != "1" || c.Within <= 0 || c.Grant == nil || !slices.Equal(c.Grant.VNIs, []core.VNI{1024}) || !slices.Equal(c.Grant.Inventory, []string{"cxi0"}) {
			t.Errorf("%+v", c)
		}
		login.reply(core.SchedulerReply{ID: c.ID})
		must(t, <-s.reserve(ctx, "n2", askOf("f", "1")))
		time.Sleep(time.Minute)
		for len(login.orders) > 0 {
			if o := <-login.orders; len(o.Calls) > 0 && o.Calls[0].Verb != core.CallDrained {
				t.Errorf("%+v", o.Calls)
			}
		}
	})
}
