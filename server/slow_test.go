package server_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/server"
)

// stuck is a scheduler that does not answer before a time.
type stuck struct {
	*scheduler
	from  time.Time
	hangs bool // else it fails at once
	back  []string
	tries []time.Time // to put a job back
}

func (l *stuck) away(ctx context.Context) error {
	switch {
	case time.Now().After(l.from):
		return nil
	case l.hangs:
		select {
		case <-time.After(time.Until(l.from)):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return core.Errorf(core.SchedulerAway, "squeue: slurmctld does not answer")
}

func (l *stuck) Describe(ctx context.Context, key core.Key, note []byte, from core.Peer) (core.Job, error) {
	if err := l.away(ctx); err != nil {
		return core.Job{}, err
	}
	return l.scheduler.Describe(ctx, key, note, from)
}

func (l *stuck) Requeue(ctx context.Context, key core.Key, reason string) error {
	l.mu.Lock()
	l.tries = append(l.tries, time.Now())
	l.mu.Unlock()
	if err := l.away(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.back = append(l.back, key.Job+": "+reason)
	return nil
}

// reserve asks a server with this scheduler for a job.
func (l *stuck) reserve(t *testing.T, limit time.Duration) error {
	t.Helper()
	s := start(t, func(n *server.Needs) {
		l.scheduler = n.Schedulers["s"].(core.Dispatcher).Of.(*scheduler)
		n.Schedulers["s"] = core.Dispatcher{Of: l}
	})
	t.Cleanup(s.stop)
	s.attend(t.Context(), "n1", "b", nil)
	within, stop := context.WithTimeout(t.Context(), limit)
	defer stop()
	_, err := s.Reserve(within, "n1", ask("1", "b"), core.Peer{})
	return err
}

// TestASchedulerThatIsSlow: a hook waits for it while it has the time. Else the job is put back as soon as the
// scheduler answers, and the hook hears early enough which part of the system did not.
func TestASchedulerThatIsSlow(t *testing.T) {
	const limit = 6 * time.Second
	for name, c := range map[string]struct {
		away  time.Duration
		hangs bool
		want  core.Reason
	}{
		"refuses for a while": {away: limit / 2}, "hangs for a while": {away: limit / 2, hangs: true},
		"refuses for longer": {away: 3 * limit, want: core.SchedulerAway},
		"hangs for longer":   {away: 3 * limit, hangs: true, want: core.SchedulerAway},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &stuck{hangs: c.hangs}
				began := time.Now()
				l.from = began.Add(c.away)
				err := l.reserve(t, limit)
				if got := core.ReasonOf(err); got != c.want {
					t.Errorf("%v", err)
				}
				if took := time.Since(began); took >= limit {
					t.Errorf("it took %s", took)
				}
				time.Sleep(time.Until(l.from) + 5*time.Second)
				l.mu.Lock()
				defer l.mu.Unlock()
				if (len(l.back) == 1) != (c.want != "") {
					t.Errorf("put back: %v", l.back)
				}
			})
		})
	}
}

// TestASchedulerThatStaysAway: the server tries for ten minutes to put the job back, and no longer.
func TestASchedulerThatStaysAway(t *testing.T) {
	const tries, pause = 10 * time.Minute, 2 * time.Second
	synctest.Test(t, func(t *testing.T) {
		l := &stuck{}
		began := time.Now()
		l.from = began.Add(time.Hour)
		if err := l.reserve(t, 6*time.Second); core.ReasonOf(err) != core.SchedulerAway {
			t.Fatal(err)
		}
		refused := time.Now()
		time.Sleep(time.Until(l.from))
		l.mu.Lock()
		defer l.mu.Unlock()
		last := l.tries[len(l.tries)-1]
		if last.Before(began.Add(tries)) || last.After(refused.Add(tries+pause)) {
			t.Errorf("the last of %d tries comes %s after the first question", len(l.tries), last.Sub(began))
		}
		for i, at := range l.tries[1:] {
			if gap := at.Sub(l.tries[i]); gap > pause {
				t.Errorf("try %d comes %s after the one before", i+2, gap)
			}
		}
		if len(l.back) > 0 {
			t.Errorf("put back: %v", l.back)
		}
	})
}
