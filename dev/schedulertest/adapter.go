package schedulertest

import (
	"context"
	"math/rand/v2"
	"sync"

	"github.com/weft-hpc/weft/core"
)

// Adapter is a Model as a core.Scheduler. Lie is asked before every answer which lie it should be; nil is always honest.
type Adapter struct {
	Lie func() Lie

	mu     sync.Mutex
	model  *Model
	rng    *rand.Rand
	news   chan struct{} // closed when a Watch should ask again
	failed []Failed
	drains map[string]string
}

// Failed is what Fail was told.
type Failed struct {
	Key    core.Key
	Reason string
}

var _ core.Scheduler = (*Adapter)(nil)

// NewAdapter makes a core.Scheduler of m, which from then on must be touched through Do only.
func NewAdapter(m *Model, seed uint64) *Adapter {
	return &Adapter{model: m, rng: rand.New(rand.NewPCG(seed, 0)), news: make(chan struct{}), drains: map[string]string{}}
}

// Do changes the model. Every Watch asks anew afterwards.
func (a *Adapter) Do(change func(*Model)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(a.model)
	close(a.news)
	a.news = make(chan struct{})
}

// Describe implements core.Scheduler.
func (a *Adapter) Describe(ctx context.Context, key core.Key, _ []byte, _ core.Peer) (core.Job, error) {
	if err := ctx.Err(); err != nil {
		return core.Job{}, core.AsError(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	j, err := a.model.Describe(key, a.lie(), a.rng)
	if err != nil {
		return core.Job{}, err
	}
	return j, nil
}

// Watch implements core.Scheduler: a question and its answer at once, and again after every Do.
func (a *Adapter) Watch(ctx context.Context, tell func(core.Jobs) error) error {
	for {
		if err := tell(core.Jobs{Asking: true}); err != nil {
			return err
		}
		a.mu.Lock()
		answer, news := a.model.Answer(a.lie(), a.rng), a.news
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
func (a *Adapter) Fail(_ context.Context, key core.Key, reason string) error {
	a.Do(func(m *Model) {
		a.failed = append(a.failed, Failed{key, reason})
		if j := m.find(key.JobID); j != nil && j.Key == key && j.State != core.JobFinal {
			m.End(j)
		}
	})
	return nil
}

// Drain implements core.Scheduler.
func (a *Adapter) Drain(_ context.Context, node, reason string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drains[node] = reason
	return nil
}

// Told gives what Fail and Drain were told so far.
func (a *Adapter) Told() ([]Failed, map[string]string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	drains := make(map[string]string, len(a.drains))
	for n, r := range a.drains {
		drains[n] = r
	}
	return append([]Failed(nil), a.failed...), drains
}

func (a *Adapter) lie() Lie {
	if a.Lie == nil {
		return Honest
	}
	return a.Lie()
}
