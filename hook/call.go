package hook

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/weft-hpc/weft/core"
)

// Bounds of the calling side.
const (
	MaxRequest = 4 << 20          // bytes of a request; a listener may take fewer
	MaxReply   = 4 << 20          // bytes of a reply
	Patience   = 2 * time.Minute  // how long a call may take whose context has no deadline
	againFor   = 10 * time.Second // how long a call comes again that was refused before anything began
	firstWait  = time.Millisecond
	longest    = 100 * time.Millisecond
)

// Call makes one call to the daemon that listens at path: in as JSON goes there and the answer is read into out; either may be nil. What the daemon
// answers as an error comes back as a *core.Error, whole. A daemon that is not there is core.ServerAway; no answer in time is core.TimedOut; an answer
// that cannot be understood is core.InternalFault or core.BadVersion. The socket must belong to root or to the caller, and so must who listens there.
// A call that was refused before anything began comes again for up to 10 s.
func Call(ctx context.Context, path, verb string, in, out any) error {
	reply, err := call(ctx, path, verb, "", in)
	if err != nil || out == nil {
		return err
	}
	return reply.into(path, out)
}

func (r Reply) into(path string, out any) error {
	if err := decode(r.Body, out); err != nil {
		return core.Errorf(core.InternalFault, "%s: its answer: %w", path, err)
	}
	return nil
}

func call(ctx context.Context, path, verb, cursor string, in any) (Reply, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, Patience)
		defer cancel()
	}
	out, err := request(ctx, verb, cursor, in)
	if err != nil {
		return Reply{}, err
	}
	start := time.Now()
	var refused error
	for wait := firstWait; ; wait = min(2*wait, longest) {
		reply, err := once(ctx, path, out)
		if err == nil && reply.Error != nil {
			err = reply.Error.Err()
		}
		if e := core.AsError(err); refused != nil && !reply.Again && e != nil && (e.Reason == core.TimedOut || e.Reason == core.Cancelled) {
			// Why it comes again is what a person needs to know; whether this time it began, nobody can.
			return reply, core.Errorf(e.Reason, "%w; until then it was refused: %s", err, refused).WithRemedy(e.Remedy)
		}
		if err == nil {
			reply.tell(ctx)
		}
		if err == nil || !reply.Again || time.Since(start) > againFor || !pause(ctx, wait) {
			return reply, err
		}
		refused = err
	}
}

// request is the frame of a request.
func request(ctx context.Context, verb, cursor string, in any) ([]byte, error) {
	id := hex.EncodeToString(binary.BigEndian.AppendUint64(nil, rand.Uint64()))
	req := Request{Version: Version, ID: id, Verb: verb, Cursor: cursor, Began: Boottime()}
	if deadline, ok := ctx.Deadline(); ok {
		req.Until = req.Began + int64(time.Until(deadline))
	}
	if in != nil {
		body, err := json.Marshal(in)
		if err != nil {
			return nil, core.Errorf(core.InternalFault, "call of %s: %w", verb, err)
		}
		req.Body = body
	}
	out, err := Frame(req, MaxRequest)
	if err != nil {
		return nil, core.Errorf(core.BadCall, "call of %s: %w", verb, err).WithRemedy("give less at once")
	}
	return out, nil
}

// pause waits about d, in part by chance so that many callers do not come together; it reports false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d/2 + rand.N(d))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// once sends a request's frame on a connection of its own and reads the reply.
func once(ctx context.Context, path string, request []byte) (Reply, error) {
	conn, err := dial(ctx, path)
	if err != nil {
		return Reply{}, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	return exchange(ctx, path, conn, request)
}

// exchange is once on a connection that stands.
func exchange(ctx context.Context, path string, conn *os.File, request []byte) (Reply, error) {
	_, sent := conn.Write(request)
	return read(ctx, path, conn, sent)
}

// read reads a reply to a request; sent is the error of sending that.
func read(ctx context.Context, path string, conn *os.File, sent error) (Reply, error) {
	// A listener that refuses answers before it has read everything, so there may be an answer although not all could be sent.
	body, err := ReadFrame(conn, MaxReply)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return Reply{}, late(ctx, path)
	case errors.Is(err, ErrOversized):
		return Reply{}, core.Errorf(core.InternalFault, "%s: its answer is no answer: %w", path, err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return Reply{}, core.Errorf(core.ServerAway, "%s: it broke off in the middle of its answer", path).WithRemedy(starter(path))
	case sent != nil:
		return Reply{}, core.Errorf(core.ServerAway, "%s: it broke off before the call was sent: %w", path, sent).WithRemedy(starter(path))
	default:
		return Reply{}, core.Errorf(core.ServerAway, "%s: it broke off without an answer: %w", path, err).WithRemedy(starter(path))
	}
	var reply Reply
	if err := decode(body, &reply); err != nil {
		return Reply{}, core.Errorf(core.InternalFault, "%s: its answer: %w", path, err).WithRemedy("see whether it is a weft daemon that listens there")
	}
	if reply.Error == nil || reply.Error.Reason != string(core.BadVersion) {
		if err := checkVersion(path, reply.Version); err != nil {
			return Reply{}, err
		}
	}
	return reply, nil
}

// late is the error of a call whose context ended first.
func late(ctx context.Context, path string) error {
	err := context.Cause(ctx)
	if err == nil {
		err = context.DeadlineExceeded
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return core.Errorf(core.TimedOut, "%s: no answer within the time limit: %w", path, err)
	}
	return core.Errorf(core.Cancelled, "%s: the caller gave up before it answered: %w", path, err)
}
