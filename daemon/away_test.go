package daemon

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/daemon/connection"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/server"
)

// loginHalf is a scheduler's half that knows every job but never.
type loginHalf struct {
	*batch
	drain chan string
}

// never is a job that no scheduler has.
const never = 404

func (h *loginHalf) Describe(ctx context.Context, k core.Key, note []byte, from core.Peer) (core.Job, error) {
	if k == key(never) {
		return core.Job{}, core.Errorf(core.JobUnknown, "job %d: this scheduler knows none", never)
	}
	return h.batch.Describe(ctx, k, note, from)
}

func (h *loginHalf) Drain(_ context.Context, node, reason string) error {
	h.drain <- node + ": " + reason
	return nil
}

// TestASchedulersHalfOnANode has a server and two agents, with certificates, over the network: a job of n1 is described
// on login, lives, and ends when login says so.
func TestASchedulersHalfOnANode(t *testing.T) {
	h := &loginHalf{batch: newBatch(), drain: make(chan string, 1)}
	s := openStation(t, h.batch, func(n *server.Needs) {
		n.Schedulers, n.At = nil, map[string]string{scheduler: "login"}
		n.Limits = server.Limits{Tick: 10 * time.Millisecond, Retry: 10 * time.Millisecond}
	})
	defer s.stop()
	begin := func(name string, half map[string]core.SchedulerClient) *agent.Agent {
		t.Helper()
		certs, err := issue(s.tls, name)
		if err != nil {
			t.Fatal(err)
		}
		way, err := connection.NewLink([]string{s.address}, certs)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = way.Close() })
		return s.agent(t, agent.Needs{
			Node: name, Driver: sim.New(sim.Options{NICs: 1, Boot: name}), Authority: way, Schedulers: half,
			Limits: agent.Limits{Retry: 10 * time.Millisecond, RetryMost: 50 * time.Millisecond},
		})
	}
	prepare := func(a *agent.Agent, job int) core.Outcome {
		within, end := context.WithTimeout(s.ctx, 20*time.Second)
		defer end()
		return a.Do(within, askFor(job, core.Prepare, ""), core.Peer{})
	}
	n1 := begin("n1", nil)
	until := func(what string, ok func() bool) {
		t.Helper()
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for late := time.After(30 * time.Second); !ok(); {
			select {
			case <-tick.C:
			case <-late:
				t.Fatal("never: " + what)
			}
		}
	}
	var out core.Outcome
	until("a refusal that names login", func() bool {
		out = prepare(n1, 1)
		return out.Err != nil && out.Err.Reason == core.SchedulerAway && strings.Contains(out.Err.Error(), "login")
	})
	begin("login", map[string]core.SchedulerClient{scheduler: core.Dispatcher{Of: h}})
	until("job 1 is prepared", func() bool { return prepare(n1, 1).Err == nil })
	if out = prepare(n1, never); out.Err == nil || out.Err.Reason != core.JobUnknown || !strings.Contains(out.Err.Error(), "this scheduler knows none") {
		t.Errorf("an error of the half: %v", out.Err)
	}
	used := func() (n int) {
		if err := s.Look(s.ctx, func(m *engine.Machine) { n = taken(m) }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := used(); n != 1 {
		t.Errorf("%d VNIs are taken", n)
	}
	drain := func(call uint64) engine.Input { return engine.SetDrain{Call: call, Node: "n1", Reason: "a test"} }
	if _, err := s.Do(s.ctx, drain); err != nil {
		t.Error(err)
	}
	if got := <-h.drain; got != "n1: a test" {
		t.Errorf("login was told to drain %q", got)
	}
	h.Answer(over(1))
	until("the VNI of a job that is over is free", func() bool { return used() == 0 })
}
