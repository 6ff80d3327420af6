package hook

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
)

// A caller whose time ends while it comes again hears why it had to, and that nobody knows whether this time it began.
func TestTheTimeEndsWhileACallComesAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancelCause(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			if _, err := ReadFrame(c, MaxRequest); err != nil {
				t.Error(err)
			}
			if n == 0 {
				answer, err := Frame(Reply{Version: Version, Again: true, Error: NewFault(core.Errorf(core.Overloaded, "calls: too many"))}, MaxReply)
				if err != nil {
					t.Error(err)
				}
				_, _ = c.Write(answer)
			} else {
				end(context.DeadlineExceeded)
				_, _ = c.Read(make([]byte, 1))
			}
			c.Close()
		}
	}()
	defer func() { ln.Close(); <-done }()
	err = Call(ctx, path, "echo", nil, nil)
	e := core.AsError(err)
	if e.Reason != core.TimedOut || !strings.Contains(e.What, "no answer within the time limit") || !strings.Contains(e.What, "until then it was refused: calls: too many") {
		t.Errorf("%s: %q", e.Reason, e.What)
	}
}
