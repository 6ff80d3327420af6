package server

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/poll"
)

// watch follows one scheduler for as long as ctx lives. A Watch that breaks begins again after a pause that grows, with jitter; until then nothing is known
// of its jobs, and nothing of them is freed.
func (s *Server) watch(ctx context.Context, name string, sched core.SchedulerClient) {
	wait := s.limits.Retry
	for ctx.Err() == nil {
		var began time.Duration
		err := sched.Watch(ctx, func(jobs core.Jobs) error {
			if jobs.Asking {
				began = s.now().Uptime
				return nil
			}
			if jobs.Silent != "" {
				s.silence.failed(name, jobs.Silent)
				return nil
			}
			wait = s.limits.Retry
			s.hear(name, jobs)
			err := s.insist(ctx, work{in: engine.Answer{Scheduler: name, Began: began, Jobs: jobs}})
			if err == nil && jobs.Complete {
				s.meter.Answered(name)
				s.silence.answered(name, s.now().Wall)
				s.firstStarts.answered(name, answered{began, jobs.Jobs})
			}
			return err
		})
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && core.AsError(err).Code == core.Unsupported:
			if s.needs.At[name] == "" { // else its node forwards what it tells
				s.firstStarts.noWatch(name)
				s.silence.ended(name)
			}
			return
		case err != nil:
			s.silence.failed(name, core.AsError(err).Line())
			s.log.Warn("the scheduler cannot be watched", core.LogScheduler, name, core.LogError, err, core.LogWait, wait)
		}
		if !poll.Pause(ctx, wait/2+rand.N(wait)) {
			return
		}
		wait = min(2*wait, s.limits.RetryMost)
	}
}
