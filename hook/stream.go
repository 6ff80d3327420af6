package hook

import (
	"context"
	"io"
	"time"
)

// partly is how long the next part of a Stream may take to come.
const partly = 3 * time.Minute

// Receive makes one call as Call does, and writes the Stream that the daemon answers to w. Without an error it has come
// to its end.
func Receive(ctx context.Context, path, verb string, in any, w io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(partly, func() { cancel(context.DeadlineExceeded) })
	defer late.Stop()
	out, err := request(ctx, verb, "", in)
	if err != nil {
		return err
	}
	conn, err := dial(ctx, path)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	_, sent := conn.Write(out)
	for {
		reply, err := read(ctx, path, conn, sent)
		switch {
		case err != nil:
			return err
		case reply.Error != nil:
			return reply.Error.Err()
		case !reply.More:
			return nil
		}
		var part []byte
		if err := reply.into(path, &part); err != nil {
			return err
		}
		late.Stop()
		if _, err := w.Write(part); err != nil {
			return err
		}
		late.Reset(partly)
	}
}
