package listener

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
)

// Handler answers a call. Its context ends at the call's time limit, when the caller is gone, and some time after the listener was told to stop. What it
// returns becomes the reply's JSON; a Page is a part of a list. An error reaches the caller as the core.Error that core.AsError finds in it.
type Handler func(ctx context.Context, peer core.Peer, req hook.Request) (any, error)

// Server answers calls on one socket, each on a connection of its own. The zero value has the bounds of Root.
type Server struct {
	Bounds Bounds
	Log    *slog.Logger // nil: slog's default

	peer func(net.Conn) (core.Peer, error) // tests put their own here
}

// grace is how long a Handler has to return once its context has ended, before its caller is told without it.
const grace = time.Second

// The first pause after a connection that could not be accepted, and the longest.
const (
	firstWait   = time.Millisecond
	longestWait = time.Second
)

// refusing is how long the answer to a call that is refused may take to go.
const refusing = 100 * time.Millisecond

// leastReply is what an error may have whatever Bounds say, in bytes.
const leastReply = 64 << 10

// Serve answers calls that come to ln until ctx ends, then lets those in flight go on for up to Bounds.Stop. It closes ln. The error is for a listener
// that broke, or for Handlers that did not return.
func (f *Server) Serve(ctx context.Context, ln net.Listener, handler Handler) error {
	s := &serving{bounds: f.Bounds.filled(), handler: handler, log: f.Log, peer: f.peer}
	if s.log == nil {
		s.log = slog.Default()
	}
	if s.peer == nil {
		s.peer = peerOf
	}
	s.open = &openCalls{bounds: s.bounds, of: map[uint32]int{}}
	// Calls in flight outlive ctx for a while: work is their context, stopping the word to begin nothing new.
	var cancel context.CancelFunc
	s.stopping = ctx
	s.work, cancel = context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	unlisten := context.AfterFunc(ctx, func() { ln.Close() })
	defer unlisten()
	err := s.accept(ln)
	ln.Close()
	return errors.Join(err, s.wait(cancel))
}

// serving is one Serve.
type serving struct {
	bounds   Bounds
	handler  Handler
	log      *slog.Logger
	peer     func(net.Conn) (core.Peer, error)
	open     *openCalls
	stopping context.Context
	work     context.Context
	group    sync.WaitGroup
}

func (s *serving) accept(ln net.Listener) error {
	for wait := firstWait; ; {
		conn, err := ln.Accept()
		switch {
		case err == nil:
			wait = firstWait
			s.meet(conn)
		case s.stopping.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("socket %s: it was closed: %w", ln.Addr(), err)
		default: // out of descriptors or memory: that passes
			s.log.Error("no connection can be accepted; trying again", core.LogSocket, ln.Addr().String(), core.LogError, err)
			select {
			case <-time.After(wait):
			case <-s.stopping.Done():
			}
			wait = min(2*wait, longestWait)
		}
	}
}

// meet lets a caller in or refuses it. It never waits for the caller: a frame as short as a refusal fits the socket's buffer.
func (s *serving) meet(conn net.Conn) {
	peer, err := s.peer(conn)
	if err != nil {
		s.log.Warn("a caller was refused: nobody knows who it is", core.LogError, err)
		conn.Close()
		return
	}
	if err := s.open.enter(peer.UID); err != nil {
		s.send(conn, hook.Reply{Error: hook.NewFault(err), Again: true}, refusing)
		conn.Close()
		return
	}
	s.group.Go(func() {
		c := &caller{serving: s, conn: conn, peer: peer}
		c.attend()
	})
}

// wait lets the calls in flight end, and then ends them.
func (s *serving) wait(cancel context.CancelFunc) error {
	done := make(chan struct{})
	go func() {
		s.group.Wait()
		close(done)
	}()
	t := time.NewTimer(s.bounds.Stop)
	defer t.Stop()
	select {
	case <-done:
		return nil
	case <-t.C:
	}
	cancel()
	t.Reset(2*grace + s.bounds.Write)
	select {
	case <-done:
		return nil
	case <-t.C:
		return fmt.Errorf("calls: %d did not end although they were told to", s.open.count())
	}
}

// send writes a reply within limit. A reply that is too long becomes an error that says so.
func (s *serving) send(conn net.Conn, reply hook.Reply, limit time.Duration) {
	reply.Version = hook.Version
	out, err := hook.Frame(reply, s.bounds.Reply)
	if reply.Text != nil && len(reply.Text) <= s.bounds.Reply {
		out = reply.Text.Frame()
	}
	if err != nil {
		fault := hook.NewFault(core.Errorf(core.InternalFault, "reply: %w", err))
		if out, err = hook.Frame(hook.Reply{Version: hook.Version, Error: fault}, max(s.bounds.Reply, leastReply)); err != nil {
			return
		}
	}
	_ = conn.SetWriteDeadline(time.Now().Add(limit))
	if _, err := conn.Write(out); err != nil {
		s.log.Debug("a reply did not reach its caller", core.LogError, err)
	}
}

// peerOf is who connected.
func peerOf(conn net.Conn) (core.Peer, error) {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return core.Peer{}, fmt.Errorf("%T is no socket", conn)
	}
	return hook.PeerOf(socket)
}
