package agent

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
)

// session is one Attend at the server. Its first report comes from the machine, which reads the NICs first.
type session struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	reports chan core.Report
	up      bool // the server has answered the first report; under Agent.mu

	mu     sync.Mutex
	asks   uint64
	heard  map[uint64]chan struct{}
	missed []core.Unanswered // as told to the server
}

// link keeps a session with the server, with pauses that grow and jitter, so that 11,136 agents do not come back in the same moment.
func (a *Agent) link(ctx context.Context) {
	wait := a.limits.Retry
	for ctx.Err() == nil {
		began := a.now().Uptime
		err := a.attend(ctx)
		if ctx.Err() != nil {
			return
		}
		if a.now().Uptime-began > a.limits.RetryMost || a.news.Swap(false) {
			wait = a.limits.Retry
		}
		rest := wait/2 + rand.N(wait)
		a.outage.ended(a.now().Uptime, err, rest)
		if !a.between(ctx, began, rest, core.ReasonOf(err) == core.ServerAway) {
			return
		}
		wait = min(2*wait, a.limits.RetryMost)
	}
}

// soon is the least pause before the server is tried again while a hook waits, or the end of a job is untold: an outage
// has made the pause longer than the hook's patience, and the job keeps its VNIs meanwhile.
const soon = time.Second

// between pauses before the server is tried again: for d, or less while somebody waits for it, with jitter, since all
// nodes of a job wait together. began is when it was tried last. A server that is there and refuses the session hears
// of an ended job no sooner.
func (a *Agent) between(ctx context.Context, began, d time.Duration, away bool) bool {
	until := a.now().Uptime + d
	hurried := began + soon + rand.N(soon)
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		if a.waiting.Load() > 0 || away && a.ended.Load() {
			until = min(until, max(hurried, a.now().Uptime+rand.N(soon)))
		}
		if a.news.Load() {
			until = min(until, a.now().Uptime+rand.N(soon/4))
		}
		timer.Reset(max(0, until-a.now().Uptime))
		select {
		case <-timer.C:
			return true
		case <-a.hurry:
		case <-ctx.Done():
			return false
		}
	}
}

// hooked says that a hook waits for the server, until what it gives is called.
func (a *Agent) hooked() (over func()) {
	a.waiting.Add(1)
	a.wake()
	return func() { a.waiting.Add(-1) }
}

// Hurry ends the pause before the server is tried again: there is one that leads now.
func (a *Agent) Hurry() {
	a.news.Store(true)
	a.wake()
}

// wake has the pause looked at again.
func (a *Agent) wake() {
	select {
	case a.hurry <- struct{}{}:
	default:
	}
}

func (a *Agent) attend(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &session{ctx: ctx, cancel: cancel, reports: make(chan core.Report, a.limits.Reports), heard: map[uint64]chan struct{}{}}
	a.mu.Lock()
	a.session = s
	a.mu.Unlock()
	a.twoHosts.Store(nil)
	defer func() {
		a.mu.Lock()
		a.session = nil
		a.mu.Unlock()
		_ = a.insist(context.WithoutCancel(ctx), work{in: node.Linked{}})
	}()
	if err := a.insist(ctx, work{in: node.Linked{Up: true}}); err != nil {
		return err
	}
	a.beside.Go(func() { a.askAgain(ctx, s) })
	up := false
	defer func() {
		if up {
			a.meter.Linked(false)
		}
	}()
	for {
		select {
		case first := <-s.reports:
			if !first.Full {
				continue // of the session before
			}
			first.Agent, first.Hardware = a.id, a.needs.Hardware
			first.First = a.first() || a.ranBefore()
			return a.needs.Authority.Attend(ctx, a.needs.Node, first, s.reports, func(o core.Orders) {
				if !up { // the server has answered the first report
					up = true
					a.begun(s)
					a.meter.Linked(true)
					a.outage.over(a.now().Uptime)
				}
				a.ordered(ctx, s, o)
			})
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// begun wakes those that wait for a session.
func (a *Agent) begun(s *session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s.up = true
	close(a.answered)
	a.answered = make(chan struct{})
}

// ordered takes orders of session s.
func (a *Agent) ordered(ctx context.Context, s *session, o core.Orders) {
	if o.Heard != 0 {
		s.mu.Lock()
		if c := s.heard[o.Heard]; c != nil {
			close(c)
			delete(s.heard, o.Heard)
		}
		s.mu.Unlock()
	}
	if o.TwoHosts != "" {
		a.twoHosts.Store(&o.TwoHosts)
	}
	if len(o.Inventory) > 0 {
		a.accepted.Store(&o.Inventory)
	}
	for _, c := range o.Calls {
		a.call(ctx, s, c)
	}
	for _, ask := range o.Asks {
		a.ask(ctx, s, ask)
	}
	for _, r := range o.Ran {
		_ = a.insist(ctx, work{look: func(m *node.Machine) node.Input {
			if m != nil {
				a.ran(r, m)
			}
			return nil
		}})
	}
	if len(o.Clean) == 0 && len(o.Forget) == 0 && o.Head.Store == "" {
		return
	}
	_ = a.insist(ctx, work{in: node.Ordered{Orders: o}})
}

// tell queues a report of the machine. A session that is too far behind ends: the next begins with a full report.
func (a *Agent) tell(r core.Report) {
	a.mu.Lock()
	s := a.session
	a.mu.Unlock()
	if s == nil {
		return
	}
	if r.Full {
		r.Unanswered, _ = a.missed(s)
	}
	a.send(s, r)
}

// tellMissed tells hooks that failed since the session began: of an agent that hung, and whose session went on.
func (a *Agent) tellMissed() {
	a.mu.Lock()
	s := a.session
	up := s != nil && s.up
	a.mu.Unlock()
	if !up {
		return
	}
	if all, news := a.missed(s); news && len(all) > 0 {
		a.send(s, core.Report{Unanswered: all})
	}
}

// missed are the absences of the agent in which hooks failed, and whether s has not told them.
func (a *Agent) missed(s *session) (all []core.Unanswered, news bool) {
	if a.needs.Rundir == "" {
		return nil, false
	}
	all, err := a.needs.Rundir.Unanswered()
	if err != nil {
		a.log.Warn("the server cannot learn which hooks failed while the agent was away", core.LogError, err)
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	news = !slices.Equal(all, s.missed)
	s.missed = all
	return all, news
}

func (a *Agent) send(s *session, r core.Report) {
	select {
	case s.reports <- r:
	default:
		s.cancel(core.Errorf(core.Overloaded, "node %s: %d reports wait for the server", a.needs.Node, len(s.reports)))
	}
}

// relink ends the session, since a machine that was loaded anew begins with a full report.
func (a *Agent) relink(why *core.Error) {
	a.mu.Lock()
	s := a.session
	a.mu.Unlock()
	if s == nil {
		return
	}
	if why == nil {
		why = core.Errorf(core.Cancelled, "node %s: its agent begins anew", a.needs.Node)
	}
	s.cancel(why)
}
