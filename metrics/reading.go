package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// reading is a daemon's state as it was read last. One scrape reads at a time.
type reading[T any] struct {
	mu    sync.Mutex
	value T
	taken time.Time
}

// read asks for the state within patience; what does not come is as it was. ever says that there is a value at all.
func (r *reading[T]) read(ask func(context.Context) (T, error)) (value T, age time.Duration, fresh, ever bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	v, err := ask(ctx)
	if err == nil {
		r.value, r.taken = v, time.Now()
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
