package server

import (
	"context"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/poll"
)

// askAgain is the pause before a scheduler is asked about a job once more, because what it said is older than a prepare of another run of the job. It doubles,
// up to Limits.Retry: nothing but a clock that moves on keeps the answer from being as old again.
const askAgain = 10 * time.Millisecond

// flight is one question to a scheduler that several nodes of a job wait for.
type flight struct {
	calls []uint64
}

// describe asks the scheduler about the job of a call, once for all nodes that ask at the same time, and has policy decide before the writer sees it.
func (s *Server) describe(id uint64) {
	s.mu.Lock()
	c := s.calls[id]
	if c == nil {
		s.mu.Unlock()
		return
	}
	key := c.in.Ask.Key
	if f := s.flights[key]; f != nil && c.in.Said == nil {
		f.calls = append(f.calls, id)
		s.mu.Unlock()
		return
	}
	f := &flight{calls: []uint64{id}}
	s.flights[key] = f
	wait := time.Duration(0)
	switch {
	case c.in.Said != nil:
		wait = max(c.wait, askAgain)
		c.wait = min(2*wait, s.limits.Retry)
	case c.wait > 0:
		wait = c.wait
	}
	until := c.until
	ctx := s.ctx
	s.mu.Unlock()
	in := c.in
	s.beside.Go(func() {
		if wait > 0 {
			poll.Pause(ctx, wait)
		}
		said := s.said(ctx, s.now().Uptime, in, until)
		s.mu.Lock()
		if s.flights[key] == f {
			delete(s.flights, key)
		}
		waiting := f.calls
		s.mu.Unlock()
		for _, id := range waiting {
			if s.patient(id, said) {
				s.describe(id)
				continue
			}
			s.again(ctx, id, said)
		}
	})
}

// patient reports whether a call waits for a scheduler that did not answer: its hook has the time.
func (s *Server) patient(id uint64, said *engine.Said) bool {
	if said.Err == nil || said.Err.Reason != core.SchedulerAway {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.calls[id]
	if c == nil || s.schedulers[c.in.Ask.Key.Scheduler] == nil || time.Until(c.until) <= s.limits.Retry+answering {
		return false
	}
	c.in.Said, c.wait = nil, s.limits.Retry
	return true
}

// again puts a call to the machine once more, with what was said.
func (s *Server) again(ctx context.Context, id uint64, said *engine.Said) {
	s.mu.Lock()
	c := s.calls[id]
	var in engine.Reserve
	if c != nil {
		c.in.Said = said
		in = c.in
	}
	s.mu.Unlock()
	if c == nil {
		return
	}
	if err := s.insist(ctx, work{in: in, call: id}); err != nil {
		s.answer(id, answer{err: core.Errorf(core.ServerAway, "server: it is stopping: %w", err)})
	}
}

// said asks until the call's caller needs its answer, at most.
func (s *Server) said(ctx context.Context, began time.Duration, in engine.Reserve, until time.Time) *engine.Said {
	key := in.Ask.Key
	sched := s.schedulers[key.Scheduler]
	if sched == nil {
		return &engine.Said{Began: began, Err: core.Errorf(core.SchedulerAway, "scheduler %s: this server has no adapter for it", key.Scheduler)}
	}
	slots := s.slots[key.Scheduler]
	ctx, cancel := context.WithTimeout(ctx, s.limits.Describe)
	defer cancel()
	if !until.IsZero() {
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return &engine.Said{Began: began, Err: core.Errorf(core.Overloaded, "scheduler %s: %d questions are waiting for its answers", key.Scheduler, cap(slots))}
	}
	asked := time.Now()
	job, err := core.Describe(ctx, sched, key, in.Ask.Note, in.Peer)
	s.meter.Described(key.Scheduler, core.ReasonOf(err), time.Since(asked))
	if err != nil {
		e := core.AsError(err)
		if e.Reason == core.InternalFault || e.Reason == core.TimedOut {
			e = core.Errorf(core.SchedulerAway, "scheduler %s: job %s: it did not describe it: %w", key.Scheduler, key.Job, err)
		}
		return &engine.Said{Began: began, Err: e}
	}
	policy := s.policy.Load()
	facts := engine.Facts{Job: job, System: policy.system, Now: s.now().Wall.Unix()}
	leaves := s.observer.leaves(job)
	var decision engine.Decision
	if !leaves {
		decision = s.judge(policy.Policy, facts)
		s.saw(facts, decision)
	}
	said := engine.NewSaid(began, job, decision, policy.text)
	said.Observed = leaves
	said.From = s.needs.At[key.Scheduler]
	return said
}
