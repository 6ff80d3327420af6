package server

import (
	"context"
	"slices"
	"sync"
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
	id, done, err := ses.calls.begin(a.name, a.node, tells)
	if err != nil {
		return core.SchedulerReply{}, err
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

// awaited are the calls of a session whose replies are waited for. Their ids are of the session, so that no other node can answer them, and none is given twice.
type awaited struct {
	mu     sync.Mutex
	serial uint64
	told   int // of these, that tell the half something
	wait   map[uint64]chan core.SchedulerReply
}

// maxTold bounds the calls that tell a half something: jobs start by those that ask it, which a half that was slow must find room for when it answers again.
const maxTold = core.MaxSchedulerCalls / 4

func (w *awaited) begin(scheduler, node string, tells bool) (uint64, <-chan core.SchedulerReply, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.wait) >= core.MaxSchedulerCalls || tells && w.told >= maxTold {
		return 0, nil, core.Errorf(core.Overloaded, "scheduler %s: node %s, where its half runs, has %d calls under way", scheduler, node, len(w.wait))
	}
	if w.wait == nil {
		w.wait = map[uint64]chan core.SchedulerReply{}
	}
	if tells {
		w.told++
	}
	w.serial++
	c := make(chan core.SchedulerReply, 1)
	w.wait[w.serial] = c
	return w.serial, c, nil
}

func (w *awaited) end(id uint64, tells bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if tells {
		w.told--
	}
	delete(w.wait, id)
}

// reply ends the wait for a call; false when nobody waits for it, or no longer.
func (w *awaited) reply(r core.SchedulerReply) bool {
	w.mu.Lock()
	c := w.wait[r.ID]
	delete(w.wait, r.ID)
	w.mu.Unlock()
	if c == nil {
		return false
	}
	c <- r
	return true
}

// tells reports whether what node says of a scheduler counts, and whether it speaks for all of it: the node of its `at` does, and of a scheduler each of
// whose nodes knows its own jobs only, every node for those.
func (s *Server) tells(node, scheduler string) (counts, all bool) {
	if at := s.needs.At[scheduler]; at != "" {
		return at == node, at == node
	}
	return slices.Contains(s.needs.Own, scheduler), false
}
