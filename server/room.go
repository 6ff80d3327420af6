package server

import (
	"context"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// Bounds of how a job's last refusal counts for its next run.
const (
	quickRuns = 5           // runs that the scheduler may try one after the other
	lastCount = time.Minute // for which a refusal counts
)

// room says why a job may not start now. It also has the scheduler end a job that can never have its VNIs, which would
// wait without end.
func (s *Server) room(
	ctx context.Context, sched core.SchedulerClient, ask core.Intent, sizes map[string]int, peer core.Peer,
) error {
	if _, observed := s.observer.observed(ask.Key.Scheduler); observed { // Weft refuses no job there
		return nil
	}
	job, err := core.Describe(ctx, sched, ask.Key, ask.Note, peer)
	if why := core.AsError(err); why != nil {
		switch {
		case why.Reason == core.BadRequest:
			s.never(ask.Key, why)
		case why.Scope() == core.ScopeJob: // its prepare says so
			return nil
		}
		return why
	}
	if err, never := s.lastRun(ask.Key); err != nil {
		if never {
			s.never(ask.Key, err)
		}
		return err
	}
	policy := s.policy.Load()
	d := policy.Decide(engine.Facts{Job: job, System: policy.system, Now: s.now().Wall.Unix()})
	if d.Deny != nil && d.Deny.Reason == core.PolicyFault { // it may lack a fact that the job has once it begins
		return nil
	}
	var full *core.Error
	if err := s.Look(ctx, func(m *engine.Machine) { full = m.Room(ask.Key.JobID, d, sizes) }); err != nil {
		return err
	}
	if full == nil {
		return nil
	}
	if full.Scope() == core.ScopeJob {
		s.never(ask.Key, full)
	}
	return full
}

// never has the scheduler end a job that can never start. The hook does not wait for it: it holds up the scheduler.
func (s *Server) never(key core.Key, err *core.Error) {
	if s.needs.Following != nil { // the leader has it ended
		return
	}
	s.failed(engine.Fail{Key: key, Reason: err.Line()})
}

// passing are refusals of scope job that other jobs' ends may undo, or that say nothing of the next run.
var passing = []core.Reason{
	core.OverQuota, core.JobLimit, core.JobUnknown, core.JobEnded, core.NotPlaced, core.Cancelled,
}

// lastRun is why a node refused the run before key, where that counts for key. The scheduler tries a job again at once
// that a node has sent back. never reports that Weft would refuse the next run, too.
func (s *Server) lastRun(key core.Key) (why *core.Error, never bool) {
	s.refusals.mu.Lock()
	last := s.refusals.of[key.JobID]
	s.refusals.mu.Unlock()
	if last.err == nil || last.run+1 != key.Generation || s.now().Wall.Sub(last.At) > lastCount {
		return nil, false
	}
	switch scope := last.err.Scope(); {
	case scope == core.ScopeJob && !slices.Contains(passing, last.err.Reason):
		return last.err, true
	case scope == core.ScopeSystem && last.run >= quickRuns:
		return last.err, false
	}
	return nil, false
}
