package agent

import (
	"context"
	"math/rand/v2"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/poll"
)

// watch follows a scheduler's half on this node and forwards what it tells. It begins again in each session: the server
// that answers may be another, and has not heard what was told before.
func (a *Agent) watch(ctx context.Context, name string, sched core.SchedulerClient) {
	wait := a.limits.Retry
	for {
		s := a.linked(ctx)
		if s == nil {
			return
		}
		err := sched.Watch(s.ctx, func(jobs core.Jobs) error {
			err := a.forward(s, name, jobs)
			if err == nil {
				wait = a.limits.Retry
			}
			return err
		})
		switch {
		case ctx.Err() != nil || err != nil && core.AsError(err).Code == core.Unsupported:
			return
		case s.ctx.Err() != nil:
			continue
		case err != nil:
			a.log.Debug("the scheduler's half on this node cannot be followed", core.LogScheduler, name, core.LogError, err)
		}
		if !poll.Pause(ctx, wait/2+rand.N(wait)) {
			return
		}
		wait = min(2*wait, a.limits.RetryMost)
	}
}

// linked waits for a session whose first report the server has answered. It gives nil when ctx ends.
func (a *Agent) linked(ctx context.Context) *session {
	for {
		a.mu.Lock()
		s, answered := a.session, a.answered
		up := s != nil && s.up
		a.mu.Unlock()
		if up {
			return s
		}
		select {
		case <-answered:
		case <-ctx.Done():
			return nil
		}
	}
}

// forward sends what was told to the server. That it asks is told before the question leaves, and waits until the server has noted it.
func (a *Agent) forward(s *session, scheduler string, jobs core.Jobs) error {
	s.mu.Lock()
	s.asks++
	ask := s.asks
	heard := make(chan struct{})
	if jobs.Asking {
		s.heard[ask] = heard
	}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(s.ctx, a.limits.Heard)
	defer cancel()
	ended := func() error {
		return core.Errorf(core.ServerAway, "agent of %s: its session with the server has ended: %w", a.needs.Node, context.Cause(s.ctx))
	}
	select {
	case s.reports <- core.Report{Answer: &core.Forward{Scheduler: scheduler, Ask: ask, Jobs: jobs}}:
	case <-s.ctx.Done():
		return ended()
	case <-ctx.Done():
		return core.Errorf(core.ServerAway, "agent of %s: %w", a.needs.Node, context.Cause(ctx))
	}
	if !jobs.Asking {
		return nil
	}
	select {
	case <-heard:
		return nil
	case <-s.ctx.Done():
		return ended()
	case <-ctx.Done():
		return core.Errorf(core.ServerAway, "agent of %s: the server has not heard the question: %w", a.needs.Node, context.Cause(ctx))
	}
}
