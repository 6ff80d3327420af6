package e2e

import (
	"strings"
	"testing"
)

// inService waits until Slurm gives a node jobs again.
func (w *site) inService(node string) {
	w.t.Helper()
	until(w.t, node+" is in service", func() (bool, string) {
		state, reason := w.nodeState(node)
		return strings.HasPrefix(state, "idle"), state + " " + reason
	})
}

// TestDrain: what an administrator takes out of service in Weft goes in Slurm too, and comes back with it; what Slurm's administrator took out stays there.
func TestDrain(t *testing.T) {
	needSlurm(t)
	t.Parallel()
	w := newSite(t, setup{alloc: true, nodes: []string{"n1", "n2"}})
	weft := func(args ...string) {
		t.Helper()
		if out, err := w.weft(args...); err != nil {
			t.Fatalf("weft %v: %v\n%s", args, err, out)
		}
	}
	weft("drain", "n1", "fan", "2", "is", "loud")
	if why := w.drained("n1"); why != "weft: fan 2 is loud" {
		t.Errorf("n1 is drained: %s", why)
	}
	w.oneStep(bob, "n2", 1)
	weft("resume", "n1")
	w.inService("n1")
	w.oneStep(alice, "n1", 1)

	w.mustRoot("scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=memory is tested")
	weft("drain", "n[1-2]", "a cable")
	w.drained("n2")
	weft("resume", "n[1-2]")
	w.inService("n2")
	if state, reason := w.nodeState("n1"); !strings.HasPrefix(state, "drain") || reason != "memory is tested" {
		t.Errorf("n1 is %s: %s", state, reason)
	}
	w.clean()
}
