package agent

import (
	"context"
	"time"

	"github.com/weft-hpc/weft/core"
)

// call does what the server wants of a scheduler's half on this node, beside everything else, and tells it through the session that it came with.
func (a *Agent) call(ctx context.Context, s *session, c core.SchedulerCall) {
	began := time.Now()
	select {
	case a.slots <- struct{}{}:
	default: // the server keeps to MaxCalls; a half that does not heed its deadlines fills them all the same
		refused := core.Errorf(core.Overloaded, "scheduler %s: node %s has %d calls of its half under way", core.Clip(c.Scheduler), a.needs.Node, cap(a.slots))
		select { // who gets no reply is told by its own deadline
		case s.reports <- core.Report{Reply: &core.SchedulerReply{ID: c.ID, Err: refused}}:
		default:
		}
		return
	}
	a.beside.Go(func() {
		defer func() { <-a.slots }()
		r := a.asked(a.ctx, c, began)
		select { // it waits for room, which a server that does not read refuses until it ends the session
		case s.reports <- core.Report{Reply: &r}:
		case <-ctx.Done():
		}
	})
}

// asked makes the call. It goes on when the session ends: what was begun is told to nobody then, but is done.
func (a *Agent) asked(ctx context.Context, c core.SchedulerCall, began time.Time) core.SchedulerReply {
	fail := func(err error) core.SchedulerReply { return core.SchedulerReply{ID: c.ID, Err: core.AsError(err)} }
	sched := a.needs.Schedulers[c.Scheduler]
	if sched == nil {
		return fail(core.Errorf(core.SchedulerAway, "scheduler %s: its half does not run on node %s", core.Clip(c.Scheduler), a.needs.Node).
			WithRemedy("`at` in the scheduler's block of config.hcl names the node; the file must be the same on the server and on every node, and both restarted"))
	}
	deadline := began.Add(min(c.Within, a.limits.Call))
	if !time.Now().Before(deadline) {
		return fail(core.Errorf(core.TimedOut, "scheduler %s: %s: its time had passed before it began", c.Scheduler, c.Verb))
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	reply, err := sched.Call(ctx, c)
	reply.ID, reply.Err = c.ID, core.AsError(err)
	return reply
}
