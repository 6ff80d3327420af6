package metrics_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/metrics"
)

// stuck is a server whose writer answers only while free.
type stuck struct {
	*engine.Machine
	free bool
}

func (s *stuck) Figures(ctx context.Context) (engine.Figures, error) {
	if s.free {
		return s.Machine.Figures(), nil
	}
	<-ctx.Done()
	return engine.Figures{}, ctx.Err()
}

func (*stuck) Waiting() (now, most int) { return 7, 8 }
func (*stuck) Failure() *core.Error     { return nil }

type none map[string]int

func (none) Take(string) (core.VNI, error) { return 0, nil }
func (none) Hold(core.VNI)                 {}
func (none) Give(core.VNI)                 {}
func (n none) Use() map[string]int         { return n }

func TestAStuckWriterIsSeenByItsOldFigures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := metrics.NewServer(metrics.ServerOptions{})
		has := func(lines ...string) string {
			t.Helper()
			text := scrape(t, page)
			for _, line := range lines {
				if !strings.Contains(text, "\n"+line+"\n") {
					t.Errorf("%s is not in\n%s", line, text)
				}
			}
			return text
		}
		if text := has("weft_up 0"); strings.Contains(text, "weft_reservations") {
			t.Error("figures are shown that nobody has read")
		}
		m, _ := engine.New(engine.Config{Nodes: []string{"n1", "n2"}}, none{}, nil, engine.Start{ID: "x", Incarnation: 1}, core.Moment{})
		srv := &stuck{Machine: m, free: true}
		page.Watch(srv)
		has("weft_up 1", "weft_state_age_seconds 0", "weft_nodes 2", "weft_recovering 1", "weft_nodes_awaited 2", "weft_queue_length 7")
		srv.free = false
		time.Sleep(8 * time.Second)
		began := time.Now()
		has("weft_up 0", "weft_state_age_seconds 10", "weft_nodes 2")
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("a scrape waited %s for a stuck writer", took)
		}
	})
}

// TestNoCallerMakesASeries says hostile things; what it says must not be in the page, and the page must not grow.
func TestNoCallerMakesASeries(t *testing.T) {
	srv := metrics.NewServer(metrics.ServerOptions{Schedulers: []string{"tioga"}})
	ag := metrics.NewAgent(metrics.AgentOptions{})
	for i := range 1000 {
		evil := fmt.Sprintf("evil%d\xff\n", i)
		srv.Reserved(evil, core.Reason(evil), time.Second)
		srv.Described(evil, core.Reason(evil), time.Second)
		srv.Committed(1, core.Reason(evil), time.Second)
		srv.Answered(evil)
		ag.Hooked("tioga", "", core.Reason(evil), time.Second) // what the adapter does not understand
		ag.Hooked("tioga", evil, "", time.Second)              // and an adapter that understands anything
		ag.Driven("create", core.Reason(evil), time.Second)
	}
	if text := scrape(t, srv); strings.Contains(text, "evil") {
		t.Errorf("a caller's word is in the server's page:\n%s", text)
	}
	text := scrape(t, ag)
	if n := strings.Count(text, "weft_hook_calls_total{"); n > 70 {
		t.Errorf("%d series of hooks", n)
	}
	if strings.Contains(text, `reason="evil`) {
		t.Error("a driver's word is a label's value")
	}
}

func TestASchedulerIsSilentSinceItsLastAnswerOrTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := metrics.NewServer(metrics.ServerOptions{Schedulers: []string{"a", "b"}})
		time.Sleep(time.Minute)
		page.Answered("a")
		time.Sleep(time.Second)
		text := scrape(t, page)
		for _, line := range []string{`weft_scheduler_answer_age_seconds{scheduler="a"} 1`, `weft_scheduler_answer_age_seconds{scheduler="b"} 61`} {
			if !strings.Contains(text, line+"\n") {
				t.Errorf("%s is not in\n%s", line, text)
			}
		}
	})
}
