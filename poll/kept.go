package poll

import (
	"context"
	"iter"
	"time"
)

const (
	keepFor  = 10 * time.Minute // is how long an answer is good that has all names
	askEvery = time.Minute      // is the least time between two questions
)

// Kept is a scheduler's answer about many names, such as the cores of its nodes. It is safe for concurrent use.
type Kept[T any] struct {
	turn   chan struct{}
	answer map[string]T // never changed in place
	asked  time.Time
}

// NewKept is a Kept without an answer.
func NewKept[T any]() *Kept[T] { return &Kept[T]{turn: make(chan struct{}, 1)} }

// About gives an answer that may lack some of names. It asks if the last answer is older than 10 minutes or lacks a
// name, at most once a minute. An ask that returns nil leaves the last answer. All who need one wait for the same ask.
func (k *Kept[T]) About(
	ctx context.Context, names iter.Seq[string], ask func(context.Context) map[string]T,
) map[string]T {
	select {
	case k.turn <- struct{}{}:
		defer func() { <-k.turn }()
	case <-ctx.Done():
		return nil
	}
	age := time.Since(k.asked)
	for name := range names {
		if _, known := k.answer[name]; age >= askEvery && (!known || age >= keepFor) {
			k.asked = time.Now()
			if answer := ask(ctx); answer != nil {
				k.answer = answer
			}
			break
		}
	}
	return k.answer
}
