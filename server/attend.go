package server

import (
	"context"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// session is one Attend of a node. A newer one of the same node ends it.
type session struct {
	id     uint64
	ctx    context.Context
	cancel context.CancelCauseFunc
	mail   mailbox
	calls  awaited
	warned bool // of what it told of a scheduler that is not its own
}

// Attend takes a node's reports and tells it its orders, until ctx ends, a newer session of the node begins, or the node falls too far behind. The caller
// has proved that it is node.
func (s *Server) Attend(ctx context.Context, node string, first core.Report, next <-chan core.Report, told func(core.Orders)) (err error) {
	if err := core.CheckName("node", node, core.MaxNodeName); err != nil {
		return err
	}
	if err := s.admit(ctx, node, first); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ses := &session{ctx: ctx, cancel: cancel, mail: newMailbox()}
	s.mu.Lock()
	s.serial++
	ses.id = s.serial
	old := s.sessions[node]
	s.sessions[node] = ses
	s.mu.Unlock()
	if old != nil {
		old.cancel(core.Errorf(core.Cancelled, "node %s: it began a newer session", node))
	}
	s.came(node, old != nil)
	began := s.now().Uptime
	defer func() { s.left(node, s.now().Uptime-began, err) }()
	defer s.leave(node, ses)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for {
			select {
			case <-ctx.Done():
				return
			case <-ses.mail.bell:
				for _, o := range ses.mail.take() {
					if ctx.Err() != nil {
						return
					}
					told(o)
				}
			}
		}
	}()
	defer func() { cancel(nil); <-sent }()
	if err := s.insist(ctx, work{in: engine.Report{Node: node, Session: ses.id, Report: first}}); err != nil {
		return err
	}
	if first.First {
		s.newcomers.wait(s, node, ses)
	}
	asked := map[string]time.Duration{}
	for {
		select {
		case <-s.done:
			return core.Errorf(core.ServerAway, "server: it is stopping")
		case <-ctx.Done():
			return context.Cause(ctx)
		case rep, ok := <-next:
			if !ok {
				return nil
			}
			if rep.Reply != nil {
				if !ses.calls.reply(*rep.Reply) {
					s.log.Debug("a reply that nobody waits for is dropped", core.LogNode, node, core.LogCount, rep.Reply.ID)
				}
				continue
			}
			if rep.First && !rep.Full {
				s.newcomers.wait(s, node, ses)
				continue
			}
			if rep.Answer != nil {
				if err := s.forward(ctx, node, ses, asked, *rep.Answer); err != nil {
					return err
				}
				continue
			}
			if err := s.insist(ctx, work{in: engine.Report{Node: node, Session: ses.id, Report: rep}}); err != nil {
				return err
			}
		}
	}
}

// forward takes what a scheduler's half on the node told. The question is noted before the node may send it. What a node says of a scheduler whose half does
// not run there is not believed: it could free what others use.
func (s *Server) forward(ctx context.Context, node string, ses *session, asked map[string]time.Duration, f core.Forward) error {
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
		asked[f.Scheduler] = s.now().Uptime
		s.queueOrders(node, ses, core.Orders{Heard: f.Ask})
		return nil
	}
	began, ok := asked[f.Scheduler]
	if !ok {
		return nil
	}
	in := engine.Answer{Scheduler: f.Scheduler, Node: node, Began: began, Jobs: f.Jobs}
	if all {
		in.Node = ""
	}
	err := s.insist(ctx, work{in: in})
	if err == nil && f.Jobs.Complete {
		s.meter.Answered(f.Scheduler)
		if all {
			s.newcomers.answered(f.Scheduler, answered{began, f.Jobs.Jobs})
		}
	}
	return err
}

func (s *Server) leave(node string, ses *session) {
	s.mu.Lock()
	if s.sessions[node] == ses {
		delete(s.sessions, node)
	}
	s.mu.Unlock()
	s.newcomers.leave(node, ses)
	_ = s.insist(context.WithoutCancel(s.context()), work{in: engine.Detach{Node: node, Session: ses.id}})
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
	s.mu.Lock()
	ses := s.sessions[a.Node]
	s.mu.Unlock()
	if ses != nil && ses.id == a.Session {
		s.queueOrders(a.Node, ses, a.Orders)
	}
}

func (s *Server) queueOrders(node string, ses *session, o core.Orders) {
	if !ses.mail.put(o, s.limits.Orders) {
		ses.cancel(core.Errorf(core.Overloaded, "node %s: %d orders wait for it", node, s.limits.Orders))
	}
}
