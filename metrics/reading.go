package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// reading is what a daemon's machine was in figures T when it was read last. One scrape reads at a time.
type reading[T any] struct {
	mu    sync.Mutex
	value T
	taken time.Time
}

// read asks for the figures within patience; those that do not come are as they were. ever says that there are any.
func (r *reading[T]) read(figures func(context.Context) (T, error)) (value T, age time.Duration, fresh, ever bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	now, err := figures(ctx)
	if err == nil {
		r.value, r.taken = now, time.Now()
	}
	if r.taken.IsZero() {
		return value, 0, false, false
	}
	return r.value, time.Since(r.taken), err == nil, true
}

var (
	up  = desc("up", "1 when the figures of state are of this moment; 0 when the daemon did not answer in time, and they are as they were last.")
	age = desc("state_age_seconds", "How old the figures of state are.")
)

func freshness(ch chan<- prometheus.Metric, old time.Duration, fresh, ever bool) {
	gauge(ch, up, truth(fresh))
	if ever {
		gauge(ch, age, old.Seconds())
	}
}
