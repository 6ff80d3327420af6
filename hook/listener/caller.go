package listener

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime/debug"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
)

// maxID and maxVerb bound, in bytes, what of a request goes into logs.
const (
	maxID   = 64
	maxVerb = 64
)

// envelope is what of a reply is not its body, in bytes.
const envelope = 256

// errGone is the cause when a caller hung up.
var errGone = errors.New("the caller is gone")

// caller is one connection: one request, one reply.
type caller struct {
	*serving
	conn net.Conn
	peer core.Peer
}

func (c *caller) attend() {
	left := false
	defer func() {
		c.conn.Close()
		if !left {
			c.open.leave(c.peer.UID)
		}
	}()
	req, err := c.read()
	if err != nil {
		if !errors.Is(err, errGone) {
			// Nothing has begun: who was only slow, as one of very many that start at once, may come again.
			c.send(c.conn, hook.Reply{Error: hook.NewFault(err), Again: errors.Is(err, core.Timeout)}, c.bounds.Write)
		}
		return
	}
	ctx, cancel := context.WithTimeout(c.work, c.limit(req))
	defer cancel()
	done := make(chan hook.Reply, 1)
	left = true
	c.group.Go(func() {
		// A Handler that does not return stays counted: that bounds how many can hang.
		defer c.open.leave(c.peer.UID)
		done <- c.answer(ctx, req)
	})
	reply, here := c.await(ctx, cancel, done)
	switch {
	case here && reply.Stream != nil:
		c.stream(req, reply.Stream)
	case here:
		c.send(c.conn, reply, c.bounds.Write)
	}
}

// read takes the request off the connection and refuses what no caller of ours sends.
func (c *caller) read() (hook.Request, error) {
	_ = c.conn.SetReadDeadline(time.Now().Add(c.bounds.Read))
	hurry := context.AfterFunc(c.stopping, func() { _ = c.conn.SetReadDeadline(time.Unix(1, 0)) })
	body, err := hook.ReadFrame(c.conn, c.bounds.Request)
	hurry()
	switch {
	case err == nil:
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return hook.Request{}, errGone
	case c.stopping.Err() != nil:
		return hook.Request{}, core.Errorf(core.ServerAway, "call: the daemon is stopping").WithRemedy("try again when it is back")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return hook.Request{}, core.Errorf(core.TimedOut, "call: the request did not come within %s", c.bounds.Read)
	case errors.Is(err, hook.ErrOversized):
		return hook.Request{}, core.Errorf(core.BadCall, "call: the request's %w", err)
	default:
		return hook.Request{}, errGone
	}
	_ = c.conn.SetReadDeadline(time.Time{})
	req, err := hook.ParseRequest(body)
	if err != nil {
		return hook.Request{}, err
	}
	if err := core.CheckName("verb", req.Verb, maxVerb); err != nil {
		return hook.Request{}, err
	}
	if core.CheckName("call id", req.ID, maxID) != nil {
		req.ID = fmt.Sprintf("%016x", rand.Uint64())
	}
	if now := hook.Boottime(); req.Began <= 0 || req.Began > now {
		req.Began = now
	}
	req.Room = c.bounds.Reply - envelope
	return req, nil
}

// limit is how long the call may take: the bound, or less where the caller itself waits less.
func (c *caller) limit(req hook.Request) time.Duration {
	if req.Until <= 0 {
		return c.bounds.Answer
	}
	return min(c.bounds.Answer, time.Duration(req.Until-hook.Boottime()))
}

// await waits for the Handler, for its time limit, and for the caller to hang up; here is false when nobody is left to answer.
func (c *caller) await(ctx context.Context, cancel context.CancelFunc, done <-chan hook.Reply) (reply hook.Reply, here bool) {
	hung := make(chan bool, 1)
	go func() {
		var b [1]byte
		_, err := c.conn.Read(b[:])
		gone := !errors.Is(err, os.ErrDeadlineExceeded)
		if gone {
			cancel()
		}
		hung <- gone
	}()
	select {
	case reply = <-done:
	case <-ctx.Done():
		t := time.NewTimer(grace)
		defer t.Stop()
		select {
		case reply = <-done:
		case <-t.C:
			reply = hook.Reply{Error: hook.NewFault(core.Errorf(core.TimedOut, "call: no answer within the time limit"))}
		}
	}
	_ = c.conn.SetReadDeadline(time.Unix(1, 0))
	return reply, !<-hung
}

// panicked is the error of a call that panicked.
func (c *caller) panicked(req hook.Request, p any) error {
	c.log.Error("a call panicked", core.LogCall, req.ID, core.LogVerb, core.Clip(req.Verb), core.LogUID, c.peer.UID,
		core.LogPanic, p, core.LogStack, string(debug.Stack()))
	return core.Errorf(core.InternalFault, "call %s of %s: Weft failed in the middle of it", req.ID, req.Verb)
}

// answer runs the Handler; its panic costs this call and no other.
func (c *caller) answer(ctx context.Context, req hook.Request) (reply hook.Reply) {
	defer func() {
		if p := recover(); p != nil {
			reply = hook.Reply{Error: hook.NewFault(c.panicked(req, p))}
		}
	}()
	if ctx.Err() != nil {
		return hook.Reply{Error: hook.NewFault(core.Errorf(core.TimedOut, "call %s of %s: its time was over before it began", req.ID, req.Verb))}
	}
	body, err := c.handler(ctx, c.peer, req)
	if err != nil {
		return hook.Reply{Error: hook.NewFault(err)}
	}
	switch b := body.(type) {
	case Page:
		body, reply.Next, reply.Note = b.Body, b.Next, b.Note
	case hook.Text:
		return hook.Reply{Text: b}
	case hook.Stream:
		return hook.Reply{Stream: b}
	}
	if body == nil {
		return reply
	}
	if reply.Body, err = json.Marshal(body); err != nil {
		return hook.Reply{Error: hook.NewFault(core.Errorf(core.InternalFault, "call %s of %s: its answer: %w", req.ID, req.Verb, err))}
	}
	return reply
}
