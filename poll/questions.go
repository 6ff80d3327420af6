package poll

import (
	"context"
	"sync"
	"time"
)

// Bounds of questions about single jobs. A scheduler sends the record of one job, and some send all records for two
// jobs. All jobs that wait go into one question.
const (
	maxQuestions = 2   // at a time
	maxTogether  = 512 // jobs in a question
)

// Questions gather the questions about single jobs while an answer is on its way. A caller gets an answer that began
// after its call. Questions are safe for concurrent use.
type Questions[T any] struct {
	ask func(ctx context.Context, ids []string) (map[string]T, error)

	mu      sync.Mutex
	waiting []*question[T]
	running int
}

// question is about one job, for all its callers.
type question[T any] struct {
	job    string
	done   chan struct{}
	answer T
	err    error
}

// NewQuestions makes Questions that ask calls. Its answer lacks a job that the scheduler does not know.
func NewQuestions[T any](ask func(ctx context.Context, ids []string) (map[string]T, error)) *Questions[T] {
	return &Questions[T]{ask: ask}
}

// About gives the answer about a job; the zero value: the scheduler does not know it. patient bounds the question. The
// error is ask's, or ctx's where that ends first.
func (q *Questions[T]) About(ctx context.Context, job string, patient time.Duration) (answer T, err error) {
	one := q.join(ctx, job, patient)
	select {
	case <-one.done:
		return one.answer, one.err
	case <-ctx.Done():
		return answer, ctx.Err()
	}
}

func (q *Questions[T]) join(ctx context.Context, job string, patient time.Duration) *question[T] {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, w := range q.waiting {
		if w.job == job {
			return w
		}
	}
	one := &question[T]{job: job, done: make(chan struct{})}
	q.waiting = append(q.waiting, one)
	if q.running < maxQuestions {
		q.running++
		go q.work(context.WithoutCancel(ctx), patient)
	}
	return one
}

// work asks until no caller waits.
func (q *Questions[T]) work(ctx context.Context, patient time.Duration) {
	for {
		q.mu.Lock()
		n := min(len(q.waiting), maxTogether)
		batch := q.waiting[:n:n]
		q.waiting = q.waiting[n:]
		if n == 0 {
			q.running--
			q.mu.Unlock()
			return
		}
		q.mu.Unlock()
		q.answer(ctx, batch, patient)
	}
}

func (q *Questions[T]) answer(ctx context.Context, batch []*question[T], patient time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	ids := make([]string, len(batch))
	for i, one := range batch {
		ids[i] = one.job
	}
	all, err := q.ask(ctx, ids)
	for _, one := range batch {
		one.answer, one.err = all[one.job], err
		close(one.done)
	}
}
