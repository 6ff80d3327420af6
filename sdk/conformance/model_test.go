package conformance

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev/schedulertest"
)

// modelAdapter makes a core.Scheduler of a schedulertest.Model, an honest one.
type modelAdapter struct {
	mu     sync.Mutex
	model  *schedulertest.Model
	news   chan struct{} // closed when a Watch should ask again
	failed []failedJob
	drains map[string]string
}

// failedJob is one call of Fail.
type failedJob struct {
	key    core.Key
	reason string
}

var _ core.Scheduler = (*modelAdapter)(nil)

// newModelAdapter makes a core.Scheduler of m. After that, callers change m through Do only.
func newModelAdapter(m *schedulertest.Model) *modelAdapter {
	return &modelAdapter{model: m, news: make(chan struct{}), drains: map[string]string{}}
}

// Do changes the model. Every Watch asks again after it.
func (a *modelAdapter) Do(change func(*schedulertest.Model)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(a.model)
	close(a.news)
	a.news = make(chan struct{})
}

// Describe implements core.Scheduler.
func (a *modelAdapter) Describe(ctx context.Context, key core.Key, _ []byte, _ core.Peer) (core.Job, error) {
	if err := ctx.Err(); err != nil {
		return core.Job{}, core.AsError(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	j, err := a.model.Describe(key, schedulertest.Honest, nil)
	if err != nil {
		return core.Job{}, err
	}
	return j, nil
}

// Watch implements core.Scheduler: a question and its answer at once, and again after every Do.
func (a *modelAdapter) Watch(ctx context.Context, tell func(core.Jobs) error) error {
	for {
		if err := tell(core.Jobs{Asking: true}); err != nil {
			return err
		}
		a.mu.Lock()
		answer, news := a.model.Truth(), a.news
		a.mu.Unlock()
		if err := tell(answer); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-news:
		}
	}
}

// Fail implements core.Scheduler: the job is over.
func (a *modelAdapter) Fail(_ context.Context, key core.Key, reason string) error {
	a.Do(func(m *schedulertest.Model) {
		a.failed = append(a.failed, failedJob{key, reason})
		i := slices.IndexFunc(m.Jobs(), func(j *schedulertest.Job) bool { return j.Key == key && j.State != core.JobFinal })
		if i >= 0 {
			m.End(m.Jobs()[i])
		}
	})
	return nil
}

// Drain implements core.Scheduler.
func (a *modelAdapter) Drain(_ context.Context, node, reason string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drains[node] = reason
	return nil
}

func TestModelAdapter(t *testing.T) {
	m := schedulertest.New("tioga", 4)
	a := newModelAdapter(m)
	var j *schedulertest.Job
	a.Do(func(m *schedulertest.Model) { j = m.Submit(100, 1000, core.Request{}); m.Start(j, []string{"n1"}) })
	enough := errors.New("enough")
	var got []core.Jobs
	err := a.Watch(t.Context(), func(jobs core.Jobs) error {
		got = append(got, jobs)
		switch len(got) {
		case 1: // a change while it asks must not be missed
			a.Do(func(m *schedulertest.Model) { m.Requeue(j) })
		case 2:
			a.Do(func(m *schedulertest.Model) { m.Start(j, []string{"n2"}) })
		case 4:
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Fatal(err)
	}
	states := []core.JobState{core.JobQueued, core.JobRunning}
	for i, a := range got {
		if asks := i%2 == 0; a.Asking != asks || a.Complete == asks {
			t.Fatalf("%d: %+v", i, a)
		}
		if i%2 == 1 && a.Jobs[0].State != states[i/2] {
			t.Errorf("%d: the job is %v, want %v", i, a.Jobs[0].State, states[i/2])
		}
	}
	if err := a.Fail(t.Context(), j.Key, "no"); err != nil {
		t.Fatal(err)
	}
	if err := a.Drain(t.Context(), "n1", "broken"); err != nil {
		t.Fatal(err)
	}
	if len(a.failed) != 1 || a.failed[0].reason != "no" || a.drains["n1"] != "broken" {
		t.Errorf("told %v, %v", a.failed, a.drains)
	}
	if job, err := a.Describe(t.Context(), j.Key, nil, core.Peer{}); err != nil || !job.Gone {
		t.Errorf("a failed job is described as %+v, %v", job, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Describe(ended, j.Key, nil, core.Peer{}); !errors.Is(err, core.Unavailable) {
		t.Errorf("after its end: %v", err)
	}
}
