package server

import (
	"context"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// call is somebody who waits for the machine's word.
type call struct {
	in     engine.Reserve
	answer chan answer   // holds one
	wait   time.Duration // before its scheduler is asked once more
	until  time.Time     // when its caller needs an answer; zero: at any time
}

type answer struct {
	grant core.Grant
	count int
	err   *core.Error
}

func (a answer) reason() core.Reason {
	if a.err == nil {
		return ""
	}
	return a.err.Reason
}

// answering is how long of a caller's time is kept back at most from waiting for a scheduler, so that the caller learns
// which part of the system did not answer.
const answering = 500 * time.Millisecond

// Reserve joins node to its job's reservation. The caller has proved that it is node.
func (s *Server) Reserve(ctx context.Context, node string, ask core.Intent, peer core.Peer) (core.Grant, error) {
	if err := core.CheckName("node", node, core.MaxNodeName); err != nil {
		return core.Grant{}, err
	}
	if len(ask.Note) > core.MaxNote {
		return core.Grant{}, core.Errorf(core.BadCall, "job %s: its note has %d bytes, more than %d", ask.Key, len(ask.Note), core.MaxNote)
	}
	peer.Node = node
	began := time.Now()
	if !s.named(node) {
		err := unnamed(node)
		s.meter.Reserved(ask.Key.Scheduler, err.Reason, time.Since(began))
		return core.Grant{}, err
	}
	a := s.ask(ctx, func(id uint64) engine.Input { return engine.Reserve{Call: id, Node: node, Ask: ask, Peer: peer} })
	s.meter.Reserved(ask.Key.Scheduler, a.reason(), time.Since(began))
	if a.err != nil {
		return core.Grant{}, a.err
	}
	return a.grant, nil
}

// Do takes an operator's word: Forget, SetDrain, Accept or Recover, made by f with the call's number. It answers how many things it touched.
func (s *Server) Do(ctx context.Context, f func(call uint64) engine.Input) (int, error) {
	a := s.ask(ctx, f)
	if a.err != nil {
		return 0, a.err
	}
	return a.count, nil
}

func (s *Server) ask(ctx context.Context, f func(call uint64) engine.Input) answer {
	c := &call{answer: make(chan answer, 1)}
	if d, ok := ctx.Deadline(); ok {
		left := time.Until(d)
		c.until = time.Now().Add(left - min(left/8, answering))
	}
	s.mu.Lock()
	s.serial++
	id := s.serial
	in := f(id)
	c.in, _ = in.(engine.Reserve)
	s.calls[id] = c
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.calls, id)
		s.mu.Unlock()
	}()
	if err := s.put(work{in: in, call: id}); err != nil {
		return answer{err: err}
	}
	select {
	case a := <-c.answer:
		return a
	case <-s.done:
		return answer{err: core.Errorf(core.ServerAway, "server: it is stopping")}
	case <-ctx.Done():
		return answer{err: core.Errorf(core.TimedOut, "server: it did not answer in time: %w", context.Cause(ctx))}
	}
}

// answer ends a call; one that is gone already is not missed.
func (s *Server) answer(id uint64, a answer) {
	s.mu.Lock()
	c := s.calls[id]
	delete(s.calls, id)
	s.mu.Unlock()
	if c != nil {
		c.answer <- a
	}
}

// dropAll ends every call with err, and every session.
func (s *Server) dropAll(err *core.Error) {
	s.mu.Lock()
	calls, sessions := s.calls, s.sessions
	s.calls, s.sessions = map[uint64]*call{}, map[string]*session{}
	s.mu.Unlock()
	for _, c := range calls {
		c.answer <- answer{err: err}
	}
	for _, ses := range sessions {
		ses.cancel(err)
	}
}
