// Package poll makes the Watch of a scheduler's adapter of a function that lists jobs, for schedulers that can be asked and do not tell.
package poll

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/weft-hpc/weft/core"
)

// Patience is how long one list may take. It is long: a controller with a hundred thousand jobs answers slowly, and an answer given up frees nothing.
const Patience = time.Minute

// Slowest is the longest pause after answers that failed, unless the pause between two answers is longer: so soon is a
// scheduler seen that is back.
const Slowest = 15 * time.Second

// Watch asks list at once and then again every so often (1 s at least) after the answer, for as long as ctx lives: it tells that it asks, then the
// complete answer. Whatever list returns with an error is not told, since a list that is not complete would end jobs that run; the next question then
// comes after a pause that doubles up to Slowest, and is drawn between its half and its whole so that many nodes do not ask at once. It ends with an error
// of tell, or with ctx's.
func Watch(ctx context.Context, every time.Duration, list func(context.Context) ([]core.JobStatus, error), tell func(core.Jobs) error) error {
	every = max(every, time.Second)
	failed := 0
	for {
		if err := tell(core.Jobs{Asking: true}); err != nil {
			return err
		}
		jobs, err := ask(ctx, list)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		wait := every
		if err != nil {
			failed++
			wait = Backoff(every, max(every, Slowest), failed)
			e := core.AsError(err)
			why := core.Jobs{Silent: e.Line()}
			if e.Reason == core.Blind {
				why = core.Jobs{Blind: e.What + ": " + e.Remedy}
			}
			if err := tell(why); err != nil {
				return err
			}
			slog.WarnContext(ctx, "the scheduler did not list its jobs; nothing is freed until it does", core.LogError, err, core.LogCount, failed, core.LogWait, wait)
		} else {
			if failed > 0 {
				slog.InfoContext(ctx, "the scheduler lists its jobs again", core.LogCount, failed)
			}
			failed = 0
			if err := tell(core.Jobs{Complete: true, Jobs: jobs}); err != nil {
				return err
			}
		}
		if !Pause(ctx, wait) {
			return ctx.Err()
		}
	}
}

func ask(ctx context.Context, list func(context.Context) ([]core.JobStatus, error)) ([]core.JobStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	jobs, err := list(ctx)
	if _, told := errors.AsType[*core.Error](err); !told && errors.Is(err, context.DeadlineExceeded) {
		err = core.Errorf(core.SchedulerAway, "no list of its jobs came within %v: %w", Patience, err)
	}
	return jobs, err
}
