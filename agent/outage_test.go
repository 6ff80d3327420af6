package agent_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/core"
)

// journal is a log that a test reads.
type journal struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *journal) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(b)
}

func (l *journal) with(text string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.all.String()) {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// An outage is one line, then one a minute however often the server is tried, and its end is one. Another reason is said soon.
func TestAnOutageInTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.server.cut = make(chan error)
		log := &journal{}
		r.stop()
		r.log = slog.New(slog.NewTextHandler(log, nil))
		r.begin(t)
		if got := log.with("connected to the server"); len(got) != 1 || strings.Contains(got[0], "again") {
			t.Fatalf("the first session: %q", got)
		}
		down := func(down bool, why *core.Error) {
			r.server.mu.Lock()
			defer r.server.mu.Unlock()
			r.server.down, r.server.refusal = down, why
		}
		r.server.mu.Lock()
		r.server.slow = time.Hour
		r.server.mu.Unlock()
		down(true, nil)
		r.server.cut <- core.Errorf(core.ServerAway, "server: gone")
		waiting := make(chan struct{})
		go func() { // hooks wait one after the other, so that the server is tried every second or two
			defer close(waiting)
			for range 37 {
				r.Do(t.Context(), ask(core.Prepare, "s", "1", 7), root)
			}
		}()
		time.Sleep(4*time.Minute + 30*time.Second)
		r.server.mu.Lock()
		tried := len(r.server.tried)
		r.server.mu.Unlock()
		got := log.with("no session with the server")
		if tried < 100 || len(got) != 5 {
			t.Fatalf("%d attempts in 4.5 minutes left %d lines, and there is one a minute: %q", tried, len(got), got)
		}
		if !strings.Contains(got[0], "reason=server-away") || !strings.Contains(got[0], "wait=") || !strings.Contains(got[1], "left_out=") {
			t.Errorf("what the lines say: %q", got[:2])
		}
		down(true, core.Errorf(core.NodeUnnamed, "node n1: `nodes` in the server's config.hcl does not name it"))
		time.Sleep(10 * time.Second)
		if got := log.with("reason=node-unnamed"); len(got) != 1 || !strings.Contains(got[0], "weft reload") {
			t.Errorf("another reason, and what to do about it, was said in %q", got)
		}
		down(false, nil)
		time.Sleep(30 * time.Second)
		if got := log.with("connected to the server again"); len(got) != 1 || !strings.Contains(got[0], "took=4m") {
			t.Errorf("the end of the outage: %q", got)
		}
		r.server.mu.Lock()
		r.server.slow = 0
		r.server.mu.Unlock()
		<-waiting
	})
}
