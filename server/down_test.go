package server_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/dev/schedulertest"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/server"
)

// downer is a scheduler that knows of some nodes whether they are down, and says nothing of "mute".
type downer struct {
	scheduler
	down map[string]bool
}

func (d *downer) Down(_ context.Context, node string) error {
	down, known := d.down[node]
	switch {
	case node == "mute":
		return core.Errorf(core.SchedulerAway, "it does not answer")
	case !known:
		return core.Errorf(core.NotSupported, "it has no node of that name")
	case !down:
		return core.NotDown(node, "x")
	}
	return nil
}

// recovers does `weft recover --without NODES`.
func recovers(t *testing.T, s *system, nodes string, want server.Count) {
	t.Helper()
	req := hook.Request{Verb: "recover", Body: fmt.Appendf(nil, `{"nodes": %q}`, nodes)}
	got, err := (&server.Verbs{Server: s.Server}).Handle(t.Context(), core.Peer{}, req)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("without %s: %v %s", nodes, err, diff)
	}
}

// TestRecoverAgain: the answer says why no node, or not each, is one that the server now waits for no longer.
func TestRecoverAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, func(n *server.Needs) { n.Config.Nodes = []string{"n1", "n2", "n3", "n4"} })
		defer s.stop()
		go func() {
			report := core.Report{Number: 1, Boot: "b", Full: true, Devices: []string{"cxi0"}}
			_ = s.Attend(t.Context(), "n1", report, nil, func(core.Orders) {})
		}()
		synctest.Wait()
		const mute = "no scheduler here can tell whether n[2-4] is down: name those that are off"
		recovers(t, s, "down", server.Count{Why: mute})
		recovers(t, s, "n3", server.Count{Count: 1, Nodes: "n3"})
		recovers(t, s, "n3", server.Count{Nodes: "n3", Why: "left out already: n3"})
		recovers(t, s, "n[1,3-4]", server.Count{
			Count: 1, Nodes: "n[1,3-4]", Why: "left out already: n3; reported already: n1",
		})
		recovers(t, s, "n2", server.Count{Count: 1, Nodes: "n2"})
		recovers(t, s, "n2", server.Count{Nodes: "n2", Why: "the server waits for no node"})
		recovers(t, s, "down", server.Count{Why: "the server waits for no node"})
	})
}

// TestStatusTellsTheRest: after the loss of a store, the status tells how long nothing is granted.
func TestStatusTellsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, func(n *server.Needs) { n.Config.Nodes = []string{"n1"} })
		defer s.stop()
		go func() {
			seen := core.Head{Store: "another", Epoch: 1, Revision: 9}
			report := core.Report{Number: 1, Boot: "b", Full: true, Seen: seen, Devices: []string{"cxi0"}}
			_ = s.Attend(t.Context(), "n1", report, nil, func(core.Orders) {})
		}()
		time.Sleep(2500 * time.Millisecond)
		got, err := (&server.Verbs{Server: s.Server, Sizes: func() map[string]int { return nil }}).
			Handle(t.Context(), core.Peer{}, hook.Request{Verb: "status"})
		if err != nil {
			t.Fatal(err)
		}
		if st := got.(server.Status); !st.Recovering || st.Rests != "58s" {
			t.Errorf("%+v", st)
		}
	})
}

// TestRecoverWithoutDown: `weft recover --without down` leaves out those nodes alone that a scheduler calls down and no
// other calls up, and names them.
func TestRecoverWithoutDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slurm := &downer{scheduler{Script: make(schedulertest.Script)}, map[string]bool{"n1": true, "n2": false, "n3": true}}
		flux := &downer{scheduler{Script: make(schedulertest.Script)}, map[string]bool{"n3": false}}
		s := start(t, func(n *server.Needs) {
			n.Config.Nodes = []string{"mute", "n1", "n2", "n3", "none"}
			n.Config.Schedulers = append(n.Config.Schedulers, "slurm", "flux")
			n.Schedulers["slurm"], n.Schedulers["flux"] = core.Dispatcher{Of: slurm}, core.Dispatcher{Of: flux}
		})
		defer s.stop()
		const silent = "no scheduler calls one of mute,n[2-3],none down, or another differs or is silent"
		recovers(t, s, "down", server.Count{Count: 1, Nodes: "n1"})
		recovers(t, s, "down", server.Count{Why: silent})
		var left []string
		if err := s.Look(t.Context(), func(m *engine.Machine) { left = m.Awaited() }); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"mute", "n2", "n3", "none"}, left); diff != "" {
			t.Error(diff)
		}
	})
}

// TestLeaveDown: a store without a witness goes on without those nodes alone that all schedulers which have them call
// down, and a store that was lost goes on without none.
func TestLeaveDown(t *testing.T) {
	for name, c := range map[string]struct {
		leave bool
		seen  uint64 // incarnation that n1 has seen
		want  []string
	}{
		"wait":          {false, 0, []string{"both", "differ", "mute", "none", "one", "up"}},
		"scheduler":     {true, 0, []string{"differ", "mute", "none", "up"}},
		"a proved loss": {true, 99, []string{"both", "differ", "mute", "none", "one", "up"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &downer{scheduler{Script: make(schedulertest.Script)}, map[string]bool{
					"both": true, "one": true, "differ": true, "up": false,
				}}
				b := &downer{scheduler{Script: make(schedulertest.Script)}, map[string]bool{"both": true, "differ": false}}
				first := start(t, nil)
				first.stop()
				s := start(t, func(n *server.Needs) {
					n.Store, n.LeaveDown = first.store, c.leave
					n.Config.Nodes = []string{"n1", "both", "one", "differ", "up", "mute", "none"}
					n.Config.Schedulers = append(n.Config.Schedulers, "a", "b")
					n.Schedulers["a"], n.Schedulers["b"] = core.Dispatcher{Of: a}, core.Dispatcher{Of: b}
				})
				defer s.stop()
				var head core.Head
				if err := s.Look(t.Context(), func(m *engine.Machine) { head = m.Head() }); err != nil {
					t.Fatal(err)
				}
				if c.seen != 0 {
					head.Incarnation = c.seen
				}
				report := core.Report{Number: 1, Boot: "b", Full: true, Seen: head, Devices: []string{"cxi0"}}
				go func() {
					_ = s.Attend(t.Context(), "n1", report, nil, func(core.Orders) {})
				}()
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				var got []string
				if err := s.Look(t.Context(), func(m *engine.Machine) { got = m.Awaited() }); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}
