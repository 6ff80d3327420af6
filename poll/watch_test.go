package poll_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/poll"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	goleak.VerifyTestMain(m)
}

var jobs = []core.JobStatus{{Run: core.Run{Key: core.Key{JobID: core.JobID{Scheduler: "tioga", Job: "7"}}}, State: core.JobRunning}}

// told is what a Watch told and when.
type told struct {
	At   time.Duration
	Jobs core.Jobs
}

// watch runs Watch in a bubble for so long.
func watch(t *testing.T, length, every time.Duration, list func(context.Context, int) ([]core.JobStatus, error)) (all []told, asked []time.Duration, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), length)
		defer cancel()
		err = poll.Watch(ctx, every, func(ctx context.Context) ([]core.JobStatus, error) {
			asked = append(asked, time.Since(start))
			return list(ctx, len(asked))
		}, func(j core.Jobs) error {
			all = append(all, told{time.Since(start), j})
			return nil
		})
	})
	return all, asked, err
}

func TestAskingThenTheCompleteAnswer(t *testing.T) {
	all, _, err := watch(t, 25*time.Second, 10*time.Second, func(ctx context.Context, _ int) ([]core.JobStatus, error) {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return jobs, nil
	})
	s := time.Second
	want := []told{
		{0, core.Jobs{Asking: true}}, {1 * s, core.Jobs{Complete: true, Jobs: jobs}},
		{11 * s, core.Jobs{Asking: true}}, {12 * s, core.Jobs{Complete: true, Jobs: jobs}},
		{22 * s, core.Jobs{Asking: true}}, {23 * s, core.Jobs{Complete: true, Jobs: jobs}},
	}
	if diff := cmp.Diff(want, all); diff != "" || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestAFailedAnswerTellsNothing(t *testing.T) {
	away := errors.New("squeue: connection refused")
	all, asked, _ := watch(t, time.Hour, 10*time.Second, func(_ context.Context, n int) ([]core.JobStatus, error) {
		if n <= 8 {
			return jobs, away // what came with the error is not complete
		}
		return jobs, nil
	})
	for i, a := range all {
		if a.Jobs.Complete && a.At < asked[8] {
			t.Errorf("told %d: an answer after an error: %+v", i, a)
		}
		if tells := i%2 == 1 && a.At < asked[8]; (a.Jobs.Silent != "") != tells || tells && !strings.Contains(a.Jobs.Silent, away.Error()) {
			t.Errorf("told %d: why there is no answer: %q", i, a.Jobs.Silent)
		}
	}
	base := 10 * time.Second
	for i := 1; i <= 8; i++ {
		most := min(base<<i, 15*time.Second)
		if got := asked[i] - asked[i-1]; got < most/2 || got > most {
			t.Errorf("pause after failure %d: %v, want %v to %v", i, got, most/2, most)
		}
	}
	if got := asked[9] - asked[8]; got != base {
		t.Errorf("pause after the first good answer: %v, want %v", got, base)
	}
}

func TestAListThatHangsHasADeadline(t *testing.T) {
	all, asked, _ := watch(t, 3*time.Minute, 10*time.Second, func(ctx context.Context, _ int) ([]core.JobStatus, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	if len(asked) < 2 || asked[1] < poll.Patience || asked[1] > poll.Patience+20*time.Second {
		t.Errorf("asked at %v: want the second time soon after %v", asked, poll.Patience)
	}
	for _, a := range all {
		if !a.Jobs.Asking && !strings.HasPrefix(a.Jobs.Silent, "no list of its jobs came within 1m0s") {
			t.Errorf("told %+v", a)
		}
	}
}

func TestTellEndsIt(t *testing.T) {
	stop := errors.New("stop")
	for _, at := range []int{1, 2} {
		n := 0
		err := poll.Watch(t.Context(), time.Hour, func(context.Context) ([]core.JobStatus, error) { return nil, nil }, func(core.Jobs) error {
			if n++; n == at {
				return stop
			}
			return nil
		})
		if !errors.Is(err, stop) {
			t.Errorf("tell %d: %v", at, err)
		}
	}
}

func TestTheEndOfItsContextIsNoAnswer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	err := poll.Watch(ctx, time.Hour, func(context.Context) ([]core.JobStatus, error) {
		cancel() // what a list gives while it is being ended may be anything
		return nil, nil
	}, func(core.Jobs) error { n++; return nil })
	if n != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("told %d times, %v", n, err)
	}
}

func TestItAsksAtMostOnceASecond(t *testing.T) {
	_, asked, _ := watch(t, 10*time.Second, 0, func(context.Context, int) ([]core.JobStatus, error) { return nil, nil })
	if len(asked) > 11 { // at 0 s and at each second
		t.Errorf("asked %d times in 10 s", len(asked))
	}
}

// TestPausesGrow and stay in bounds.
func TestPausesGrow(t *testing.T) {
	const first, most = 250 * time.Millisecond, 30 * time.Second
	for doublings := range 40 {
		if d := poll.Backoff(first, most, doublings); d < first/2 || d > most {
			t.Errorf("after %d doublings: %v", doublings, d)
		}
	}
	if poll.Backoff(first, most, 0) > first || poll.Backoff(first, most, 19) < most/2 {
		t.Error("the first or the last")
	}
}
