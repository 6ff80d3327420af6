package slurm

import (
	"context"
	"sync"
	"time"

	"github.com/weft-hpc/weft/core"
)

// Bounds of questions about single jobs. Of one job slurmctld sends that job's record, of several all that it has: those that wait go into one question.
const (
	maxQuestions = 2   // at a time
	maxTogether  = 512 // jobs in a question
)

// questions gathers what is asked of single jobs while an answer is on its way. Whoever asks gets an answer that was begun after it asked.
type questions struct {
	ask func(ctx context.Context, ids []string) ([]row, error)

	mu      sync.Mutex
	waiting []*question
	running int
}

// question is one job that is asked about, for all who do.
type question struct {
	job  string
	done chan struct{}
	rows []row
	err  error
}

// of tells the rows of a job: itself, and the components of the het job that it leads. patient bounds the command.
func (q *questions) of(ctx context.Context, job string, patient time.Duration) ([]row, error) {
	one := q.join(ctx, job, patient)
	select {
	case <-one.done:
		return one.rows, one.err
	case <-ctx.Done():
		return nil, core.Errorf(core.SchedulerAway, "job %s: slurmctld did not answer squeue in time: %w", job, ctx.Err())
	}
}

func (q *questions) join(ctx context.Context, job string, patient time.Duration) *question {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, w := range q.waiting {
		if w.job == job {
			return w
		}
	}
	one := &question{job: job, done: make(chan struct{})}
	q.waiting = append(q.waiting, one)
	if q.running < maxQuestions {
		q.running++
		go q.work(context.WithoutCancel(ctx), patient)
	}
	return one
}

// work asks until nobody waits.
func (q *questions) work(ctx context.Context, patient time.Duration) {
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

func (q *questions) answer(ctx context.Context, batch []*question, patient time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	ids := make([]string, len(batch))
	of := make(map[string]*question, len(batch))
	for i, one := range batch {
		ids[i], of[one.job] = one.job, one
	}
	all, err := q.ask(ctx, ids)
	for _, r := range all {
		if one := of[r.job]; one != nil {
			one.rows = append(one.rows, r)
		}
		if one := of[r.leader]; one != nil && r.leader != r.job {
			one.rows = append(one.rows, r)
		}
	}
	for _, one := range batch {
		one.err = err
		close(one.done)
	}
}
