package listener

import (
	"bufio"
	"context"
	"encoding/json"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
)

// partSize is how many bytes of a Stream a reply has at most: a caller who reads 2 KiB a second is not too slow.
const partSize = 64 << 10

// stream lets s write to the caller, in replies of a part each.
func (c *caller) stream(req hook.Request, s hook.Stream) {
	ctx, cancel := context.WithCancel(c.work)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = c.conn.SetWriteDeadline(time.Unix(1, 0)) })()
	err := func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = c.panicked(req, p)
			}
		}()
		parts := bufio.NewWriterSize(partWriter{c}, partSize)
		if err := s(ctx, parts); err != nil {
			return err
		}
		return parts.Flush()
	}()
	if ctx.Err() == nil {
		c.send(c.conn, hook.Reply{Error: hook.NewFault(err)}, c.bounds.Write)
	}
}

// partWriter sends what is written as replies with More.
type partWriter struct{ *caller }

func (w partWriter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		part := rest[:min(len(rest), partSize)]
		rest = rest[len(part):]
		body, err := json.Marshal(part)
		if err != nil {
			return 0, err
		}
		out, err := hook.Frame(hook.Reply{Version: hook.Version, More: true, Body: body}, hook.MaxReply)
		if err != nil {
			return 0, err
		}
		_ = w.conn.SetWriteDeadline(time.Now().Add(w.bounds.Answer))
		if w.work.Err() != nil {
			return 0, core.Errorf(core.ServerAway, "call: the daemon is stopping")
		}
		if _, err := w.conn.Write(out); err != nil {
			return 0, core.Errorf(core.Cancelled, "call: a part of the answer did not reach its caller: %w", err)
		}
	}
	return len(p), nil
}
