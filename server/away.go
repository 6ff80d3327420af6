package server

import (
	"context"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
)

// away is a scheduler's half that runs on a node: what is asked of it goes there as an order of the node's session, and comes back in a report.
type away struct {
	s    *Server
	name string // of the scheduler
	node string
}

// Has implements core.SchedulerClient: the node knows.
func (a away) Has(core.SchedulerVerb) bool { return true }

// Watch implements core.SchedulerClient: the node forwards it, so there is nothing to be followed from here.
func (a away) Watch(context.Context, func(core.Jobs) error) error {
	return core.Errorf(core.NotSupported, "scheduler %s: node %s forwards what is to be watched", a.name, a.node)
}

// Call implements core.SchedulerClient: it sends the call in the node's session and waits for its reply.
func (a away) Call(ctx context.Context, c core.SchedulerCall) (core.SchedulerReply, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.s.limits.Describe)
		defer cancel()
	}
	a.s.mu.Lock()
	ses := a.s.sessions[a.node]
	a.s.mu.Unlock()
	if ses == nil {
		return core.SchedulerReply{}, core.Errorf(core.SchedulerAway, "scheduler %s: the agent of node %s, where its half runs, has no session here", a.name, a.node).
			WithRemedy("check on the node that the agent runs and that it reaches the server")
	}
	tells := c.Verb != core.CallDescribe && c.Verb != core.CallDrained
	id, done, ok := ses.calls.begin(tells)
	if !ok {
		return core.SchedulerReply{}, busy(a.name, a.node)
	}
	defer ses.calls.end(id, tells)
	deadline, _ := ctx.Deadline()
	c.ID, c.Scheduler, c.Within = id, a.name, time.Until(deadline)
	if c.Within > 0 {
		ses.told(core.Orders{Calls: []core.SchedulerCall{c}})
	}
	select {
	case r := <-done:
		if r.Err != nil {
			return core.SchedulerReply{}, r.Err
		}
		return r, nil
	case <-ses.ctx.Done():
		return core.SchedulerReply{}, core.Errorf(core.SchedulerAway, "scheduler %s: %s: the session of node %s, where its half runs, ended: %w", a.name, c.Verb, a.node, context.Cause(ses.ctx))
	case <-ctx.Done():
		return core.SchedulerReply{}, core.Errorf(core.TimedOut, "scheduler %s: %s: node %s, where its half runs, did not answer in time: %w", a.name, c.Verb, a.node, context.Cause(ctx))
	}
}

// tells reports whether what node says of a scheduler counts, and whether it speaks for all of it: the node of its `at` does, and of a scheduler each of
// whose nodes knows its own jobs only, every node for those.
func (s *Server) tells(node, scheduler string) (counts, all bool) {
	if at := s.needs.At[scheduler]; at != "" {
		return at == node, at == node
	}
	return slices.Contains(s.needs.Own, scheduler), false
}

func busy(scheduler, node string) *core.Error {
	return core.Errorf(core.Overloaded, "scheduler %s: node %s, where its half runs, has too many calls under way", scheduler, node)
}
