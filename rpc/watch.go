package rpc

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"

	"github.com/weft-hpc/weft/core"
	schedulerv1 "github.com/weft-hpc/weft/rpc/proto/weft/scheduler/v1"
)

// Watch is a stream both ways, since tell must mean over the wire what it means in one process: when it returns, the consumer has been told.
//
// It matters most for Asking. The consumer stamps the time when it hears of a question, and frees VNIs of jobs that an answer younger than their prepare
// lacks. Were Asking only sent, it could lie in a buffer while the scheduler already answers: the stamp would then be later than the answer's truth, a job
// prepared in between would look gone, and its VNI would be freed under it. So tell waits until the consumer says that it heard. It does so for every
// message: one is under way at most, and an adapter whose consumer is slow waits instead of filling memory.

type watchServer = grpc.BidiStreamingServer[schedulerv1.WatchRequest, schedulerv1.WatchReply]

func watch(stream watchServer, scheduler core.SchedulerClient) error {
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	t := &teller{ctx: ctx, stream: stream, heard: make(chan uint64)}
	go func() { // ends with the stream, which ends with the handler
		for {
			m, err := stream.Recv()
			if err != nil {
				cancel(core.Errorf(core.Cancelled, "watch: its caller is gone: %w", err))
				return
			}
			select {
			case t.heard <- m.GetHeard():
			case <-ctx.Done():
				return
			}
		}
	}()
	err := scheduler.Watch(ctx, t.tell)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return outward(err)
	}
	return nil
}

// teller is the server's side of tell.
type teller struct {
	ctx    context.Context
	stream watchServer
	heard  chan uint64
	mu     sync.Mutex // one message at a time, told and heard
	number uint64
}

func (t *teller) tell(jobs core.Jobs) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.number++
	parts := encodeJobs(jobs)
	for i, p := range parts {
		if err := t.stream.Send(&schedulerv1.WatchReply{Jobs: p, Number: t.number, More: i < len(parts)-1}); err != nil {
			return core.Errorf(core.Cancelled, "watch: its caller is gone: %w", err)
		}
	}
	for {
		select {
		case n := <-t.heard:
			switch {
			case n == t.number:
				return nil
			case n > t.number:
				return core.Errorf(core.BadCall, "watch: its caller heard message %d, and %d is the newest", n, t.number)
			}
		case <-t.ctx.Done():
			return core.AsError(context.Cause(t.ctx))
		}
	}
}

// listen is the client's side.
func (c *schedulerClient) listen(
	ctx context.Context, stream schedulerv1.Scheduler_WatchClient, tell func(core.Jobs) error,
) error {
	g := gathering{most: maxWatched}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			// The plugin's answer may say first that the time is over, and an answer has no cause for errors.Is.
			return c.inward("Watch", cmp.Or(ctx.Err(), err))
		}
		d := &decoder{}
		jobs, whole := g.add(d, m.GetJobs(), m.GetMore())
		if err := c.answer("Watch", d); err != nil {
			return err
		}
		if !whole {
			continue
		}
		if err := tell(jobs); err != nil {
			return err
		}
		if err := stream.Send(&schedulerv1.WatchRequest{Heard: m.GetNumber()}); err != nil && !errors.Is(err, io.EOF) {
			return c.inward("Watch", err)
		} // EOF: Recv says why
	}
}
