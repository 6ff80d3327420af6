package server

import (
	"context"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/observe"
	"github.com/weft-hpc/weft/throttle"
)

// session is one Attend of a node. A newer one of the same node ends it, unless another host with the node's
// certificate begins that one.
type session struct {
	node   string
	id     uint64
	boot   string
	agent  string // Report.Agent
	from   string // Report.From
	ctx    context.Context
	cancel context.CancelCauseFunc
	told   func(core.Orders)
	calls  awaited[core.SchedulerReply]
	asks   awaited[core.NodeReply]
	asked  map[string]time.Duration // when the node's half of a scheduler began its last question
	warned bool                     // that the node reports of a scheduler that is not its own
	twins  throttle.Lines           // of refusals of a second host
}

// Attend takes a node's reports and sends it its orders, until ctx ends or a newer session of the node begins. The
// caller has proved that it is node. Several goroutines call told, the writer among them, also shortly after Attend
// returns: told must never wait. Package mailbox has one that does not.
func (s *Server) Attend(ctx context.Context, node string, first core.Report, next <-chan core.Report, told func(core.Orders)) (err error) {
	if err := core.CheckName("node", node, core.MaxNodeName); err != nil {
		return err
	}
	if err := s.admit(ctx, node, first); err != nil {
		return err
	}
	ses, err := s.openSession(ctx, node, first, told)
	if err != nil {
		return err
	}
	began := s.now().Uptime
	defer func() { s.left(node, s.now().Uptime-began, err) }()
	defer s.leave(ses)
	defer ses.cancel(nil)
	if err := s.report(ses, first); err != nil {
		return err
	}
	if first.First {
		s.firstStarts.wait(s, node, ses)
	}
	return s.receive(ses, next)
}

// openSession begins a session of node, and ends the one before it. That one may be another host's: it is asked first,
// unless it is of the same process.
func (s *Server) openSession(ctx context.Context, node string, first core.Report, told func(core.Orders)) (*session, error) {
	ses := &session{node: node, boot: first.Boot, agent: first.Agent, from: first.From, told: told, asked: map[string]time.Duration{}}
	ses.twins.Burst, ses.twins.Every = 1, time.Minute
	var silent *session
	for {
		s.mu.Lock()
		old := s.sessions[node]
		if old == nil || old == silent || old.agent == ses.agent && ses.agent != "" {
			s.serial++
			ses.id = s.serial
			ses.ctx, ses.cancel = context.WithCancelCause(ctx)
			s.sessions[node] = ses
			s.mu.Unlock()
			if old != nil {
				old.cancel(replaced(old.host(), ses.host(), node))
			}
			s.came(node, old != nil)
			return ses, nil
		}
		s.mu.Unlock()
		switch lives, err := s.lives(ctx, old); {
		case err != nil:
			return nil, err
		case lives:
			return nil, s.twin(ctx, old, ses)
		}
		silent = old
	}
}

// receive takes the node's reports until the session or the server ends.
func (s *Server) receive(ses *session, next <-chan core.Report) error {
	for {
		select {
		case <-s.done:
			return core.Errorf(core.ServerAway, "server: it is stopping")
		case <-ses.ctx.Done():
			return context.Cause(ses.ctx)
		case r, ok := <-next:
			if !ok {
				return nil
			}
			if err := s.take(ses, r); err != nil {
				return err
			}
		}
	}
}

// take hands a report to whom it is for: to a call that waits for its reply, to the schedulers' answers, or to the machine.
func (s *Server) take(ses *session, r core.Report) error {
	switch {
	case r.Reply != nil:
		if !ses.calls.reply(r.Reply.ID, *r.Reply) {
			s.log.Debug("a reply that nobody waits for is dropped", core.LogNode, ses.node, core.LogCount, r.Reply.ID)
		}
		return nil
	case r.Told != nil:
		ses.asks.reply(r.Told.ID, *r.Told)
		return nil
	case r.First && !r.Full:
		s.firstStarts.wait(s, ses.node, ses)
		return nil
	case r.Answer != nil:
		return s.forward(ses, *r.Answer)
	}
	return s.report(ses, r)
}

// report gives the machine a report.
func (s *Server) report(ses *session, r core.Report) error {
	s.see(ses.node, r)
	return s.insist(ses.ctx, work{in: engine.Report{Node: ses.node, Session: ses.id, Report: r}})
}

// forward takes the jobs that a scheduler's half on the node listed. It notes the question before the node may send it. Weft believes a node only about a
// scheduler whose half runs there: else a node could free what others use.
func (s *Server) forward(ses *session, f core.Forward) error {
	node := ses.node
	counts, all := s.tells(node, f.Scheduler)
	if !counts {
		if !ses.warned {
			ses.warned = true
			s.log.Warn("what a node tells of a scheduler is not believed: `at` in the scheduler's block of config.hcl names another; the file must be the same on the server and on every node",
				core.LogNode, node, core.LogScheduler, core.Clip(f.Scheduler))
		}
		return nil
	}
	if f.Jobs.Asking {
		ses.asked[f.Scheduler] = s.now().Uptime
		ses.told(core.Orders{Heard: f.Ask})
		return nil
	}
	if f.Jobs.Silent != "" {
		if all {
			s.silence.failed(f.Scheduler, f.Jobs.Silent)
		}
		return nil
	}
	began, ok := ses.asked[f.Scheduler]
	if !ok {
		return nil
	}
	in := engine.Answer{Scheduler: f.Scheduler, Node: node, From: node, Began: began, Jobs: f.Jobs}
	if all {
		in.Node = ""
		s.hear(f.Scheduler, f.Jobs)
	}
	err := s.insist(ses.ctx, work{in: in})
	if err == nil && f.Jobs.Complete {
		s.meter.Answered(f.Scheduler)
		if all {
			s.silence.answered(f.Scheduler, s.now().Wall)
			s.firstStarts.answered(f.Scheduler, answered{began, f.Jobs.Jobs})
		}
	}
	return err
}

// leave ends a session: the machine hears of it even when the server stops.
func (s *Server) leave(ses *session) {
	s.mu.Lock()
	if s.sessions[ses.node] == ses {
		delete(s.sessions, ses.node)
	}
	s.mu.Unlock()
	s.firstStarts.leave(ses.node, ses)
	s.observer.with(func(a *observe.Account) { a.Away(ses.node) })
	_ = s.insist(context.WithoutCancel(s.context()), work{in: engine.Detach{Node: ses.node, Session: ses.id}})
}

func (s *Server) context() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx == nil {
		return context.Background()
	}
	return s.ctx
}

func (s *Server) order(a engine.Order) {
	if ses := s.session(a.Node, a.Session); ses != nil {
		ses.told(a.Orders)
	}
}

func (s *Server) end(a engine.End) {
	if ses := s.session(a.Node, a.Session); ses != nil {
		ses.cancel(core.Errorf(core.Cancelled, "node %s: its session begins again", a.Node))
	}
}

// session is the one of node with this id, or nil.
func (s *Server) session(node string, id uint64) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ses := s.sessions[node]; ses != nil && ses.id == id {
		return ses
	}
	return nil
}
