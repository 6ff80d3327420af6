package schedulertest

import (
	"context"

	"github.com/weft-hpc/weft/core"
)

// Script makes a scheduler of a test tell what the test sends to it. Such a scheduler embeds a Script and has its own
// Describe, and its own Fail or Drain where the test wants to see them.
type Script chan core.Jobs

// Watch implements core.Scheduler.
func (s Script) Watch(ctx context.Context, tell func(core.Jobs) error) error {
	for {
		select {
		case jobs := <-s:
			if err := tell(jobs); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Answer tells a complete answer, whose question begins now.
func (s Script) Answer(jobs ...core.JobStatus) {
	s <- core.Jobs{Asking: true}
	s <- core.Jobs{Complete: true, Jobs: jobs}
}

// Fail implements core.Scheduler.
func (Script) Fail(context.Context, core.Key, string) error { return nil }

// Drain implements core.Scheduler.
func (Script) Drain(context.Context, string, string) error { return nil }
