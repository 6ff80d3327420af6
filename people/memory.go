package people

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/weft-hpc/weft/core"
)

// Bounds of an answer that is kept.
const (
	// Fresh is how long an answer, also "there is none", is used without asking again.
	Fresh = time.Minute
	// Stale is how long an answer is used when the database gives no newer one.
	Stale = time.Hour

	mostKept = 4096 // answers of one kind
)

// memory keeps answers by their questions.
type memory[T any] struct {
	mu   sync.Mutex
	kept map[string]answer[T]
}

type answer[T any] struct {
	value T
	got   time.Time // when the database gave value; zero: never
	err   error     // what it said instead, later
	erred time.Time
}

// ask gives the kept answer while it is fresh, or else fetches one. An answer that is no longer fresh stands where the
// fetch fails.
func (m *memory[T]) ask(now time.Time, key string, fetch func() (T, error)) (T, error) {
	m.mu.Lock()
	a := m.kept[key]
	m.mu.Unlock()
	stands := now.Sub(a.got) < Stale
	switch {
	case now.Sub(a.got) < Fresh, now.Sub(a.erred) < Fresh && stands:
		return a.value, nil
	case now.Sub(a.erred) < Fresh:
		return a.value, a.err
	}
	value, err := fetch()
	switch {
	case err == nil:
		a = answer[T]{value: value, got: now}
	case stands:
		age := now.Sub(a.got).Round(time.Second)
		slog.Warn("the user database has no answer; its last one stands", core.LogError, err, core.LogWait, Fresh,
			core.LogWhy, "the last answer is "+age.String()+" old and stands for "+Stale.String())
		a.err, a.erred, err = err, now, nil
	case errors.Is(err, ErrUnknown):
		a = answer[T]{err: err, erred: now}
	default:
		return value, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil {
		m.kept = map[string]answer[T]{}
	}
	for other := range m.kept {
		if len(m.kept) < mostKept {
			break
		}
		delete(m.kept, other)
	}
	m.kept[key] = a
	return a.value, err
}
