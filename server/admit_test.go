package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/server"
)

// lines is a log that a test reads.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(b)
}

func (l *lines) with(text string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.all.String()) {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

func logged(nodes []string) (*lines, func(*server.Needs)) {
	l := &lines{}
	return l, func(n *server.Needs) { n.Log, n.Config.Nodes = slog.New(slog.NewTextHandler(l, nil)), nodes }
}

// rename puts another list of nodes in force, as a reload does.
func (s *system) rename(t *testing.T, needs engine.Config, nodes ...string) {
	t.Helper()
	needs.Nodes = nodes
	err := s.Reload(t.Context(), server.Change{Config: needs, Policy: generous{}, Allocator: s.allocator, Resize: func(engine.Allocator) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

// over is how a session ended. One that has not ended after ten minutes never does.
func over(ended <-chan error) error {
	select {
	case err := <-ended:
		return err
	case <-time.After(10 * time.Minute):
		return errors.New("the session goes on")
	}
}

func refusedAsUnnamed(err error) bool {
	e := core.AsError(err)
	return e != nil && e.Reason == core.NodeUnnamed && strings.Contains(e.What, "node x9") && strings.Contains(e.What, "`nodes`") && strings.Contains(e.Remedy, "weft reload")
}

// A certificate of the site's is not enough: config.hcl names the nodes.
func TestANodeThatIsNotNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, change := logged([]string{"n1"})
		s := start(t, change)
		defer s.stop()
		_, ended := s.attend(t.Context(), "n1", "b", nil)
		_, refused := s.attend(t.Context(), "x9", "b", nil)
		if err := over(refused); !refusedAsUnnamed(err) {
			t.Errorf("its session: %v", err)
		}
		if _, err := s.Reserve(t.Context(), "x9", ask("1", "b"), core.Peer{}); !refusedAsUnnamed(err) {
			t.Errorf("its reservation: %v", err)
		}
		if got := log.with("refused"); len(got) != 1 || !strings.Contains(got[0], "node=x9") || !strings.Contains(got[0], "level=WARN") || !strings.Contains(got[0], "reason=node-unnamed") {
			t.Errorf("the log says %q", got)
		}
		select {
		case err := <-ended:
			t.Errorf("the node that is named lost its session: %v", err)
		default:
		}
	})
}

// A node that a reload names no longer gets no new job, and is heard until what it holds is gone: else its VNI would be held for ever, or given to others.
func TestANodeThatIsNamedNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var needs engine.Config
		log, change := logged([]string{"n1", "x9"})
		s := start(t, func(n *server.Needs) { change(n); needs = n.Config })
		defer s.stop()
		s.sched.hosts = "n1,x9"
		s.attend(t.Context(), "n1", "b", nil) // a new store waits for all
		_, ended := s.attend(t.Context(), "x9", "b", nil)
		g, err := s.Reserve(t.Context(), "x9", ask("1", "b"), core.Peer{})
		if err != nil {
			t.Fatal(err)
		}
		s.rename(t, needs, "n1")
		if err := over(ended); !refusedAsUnnamed(err) {
			t.Errorf("its session ended with %v", err)
		}
		next := make(chan core.Report)
		_, ended = s.attend(t.Context(), "x9", "b", next)
		select {
		case err := <-ended:
			t.Fatalf("it holds a job, and is not heard: %v", err)
		default:
		}
		if got := log.with("heard until nothing is left"); len(got) != 1 {
			t.Errorf("the log says %q", got)
		}
		if _, err := s.Reserve(t.Context(), "x9", ask("2", "b"), core.Peer{}); !refusedAsUnnamed(err) {
			t.Errorf("a new job: %v", err)
		}
		s.sched.Answer(core.JobStatus{Run: g.Run, State: core.JobFinal})
		next <- core.Report{Number: 2, Boot: "b", Held: []core.Held{{Run: g.Run, VNIs: g.VNIs, State: core.HeldClean}}}
		time.Sleep(2 * time.Minute)
		close(next)
		_ = over(ended)
		_, ended = s.attend(t.Context(), "x9", "b", nil)
		if err := over(ended); !refusedAsUnnamed(err) {
			t.Errorf("nothing is left on it, and its session ended with %v", err)
		}
		s.rename(t, needs, "n1", "x9")
		_, ended = s.attend(t.Context(), "x9", "b", nil)
		select {
		case err := <-ended:
			t.Errorf("it is named again: %v", err)
		default:
		}
	})
}

// Who comes and goes is in the log; ten thousand that do so at once are not.
func TestSessionsInTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, change := logged(nil)
		s := start(t, change)
		_, first := s.attend(t.Context(), "n1", "b", nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		_, second := s.attend(ctx, "n1", "b", nil)
		<-first
		cancel(errors.New("the line broke"))
		<-second
		synctest.Wait()
		for _, want := range []string{"session began\" node=n1", "began a session while it had one", "session ended\" node=n1"} {
			if log.with(want) == nil {
				t.Errorf("no line has %q", want)
			}
		}
		if got := log.with("the line broke"); len(got) != 1 {
			t.Errorf("why it ended is in %q", got)
		}
		time.Sleep(time.Hour)
		before := len(log.with("session began\""))
		for i := range 1000 {
			s.attend(t.Context(), fmt.Sprint("m", i), "b", nil)
		}
		if n := len(log.with("session began\"")) - before; n < 50 || n > 110 {
			t.Errorf("1000 nodes that came at once left %d lines", n)
		}
		time.Sleep(time.Hour)
		s.attend(t.Context(), "late", "b", nil)
		if got := log.with("node=late"); len(got) != 1 || !strings.Contains(got[0], "left_out=9") {
			t.Errorf("how many lines were left out: %q", got)
		}
		ended := len(log.with("session ended"))
		s.stop()
		if n := len(log.with("session ended")); n != ended {
			t.Errorf("a server that stops says of %d nodes that their sessions end", n-ended)
		}
	})
}
