package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// inService waits until Slurm gives a node jobs again.
func (w *site) inService(node string) {
	w.t.Helper()
	until(w.t, node+" is in service", func() (bool, string) {
		state, reason := w.nodeState(node)
		return strings.HasPrefix(state, "idle"), state + " " + reason
	})
}

// agrees waits until Weft has a node drained for why, or in service where that is empty. It may take 10 s.
func (w *site) agrees(node, why string) {
	w.t.Helper()
	began := time.Now()
	until(w.t, "weft nodes shows "+node+" drained for "+why, func() (bool, string) {
		out, err := w.weft("nodes", node, "-o", "json")
		var rows []struct{ Drained string }
		return err == nil && json.Unmarshal([]byte(out), &rows) == nil && rows[0].Drained == why, out
	})
	if took := time.Since(began); took > 10*time.Second {
		w.t.Errorf("Weft and Slurm agree after %v", took)
	}
}

// TestDrain: a drain in Weft goes to Slurm, and ends there with it. A resume in Slurm ends it in Weft. Another's reason in
// Slurm stays, and weft resume says so.
func TestDrain(t *testing.T) {
	needSlurm(t)
	t.Parallel()
	w := newSite(t, setup{alloc: true})
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
	out, err := w.weft("resume", "n[1-2]")
	for _, want := range []string{
		"tioga: n1: not in service: drained: memory is tested, by root, since 20", "tioga: n2: in service",
		"scheduler tioga did not do it",
	} {
		if err == nil || !strings.Contains(out, want) {
			t.Errorf("it lacks %q: %v\n%s", want, err, out)
		}
	}
	w.inService("n2")
	if state, reason := w.nodeState("n1"); !strings.HasPrefix(state, "drain") || reason != "memory is tested" {
		t.Errorf("n1 is %s: %s", state, reason)
	}
	w.mustRoot("scontrol", "update", "NodeName=n1", "State=RESUME")
	w.inService("n1")

	weft("drain", "n2", "a fan")
	w.agrees("n2", "a fan")
	w.mustRoot("scontrol", "update", "NodeName=n2", "State=RESUME")
	w.agrees("n2", "")
	w.oneStep(bob, "n2", 1)

	w.inService("n2") // bob has no task left: Slurm would drain n2 a minute later as "Kill task failed"
	w.cluster.procs[theController].stop()
	if out, err := w.weft("drain", "n2", "a fan"); err == nil || !strings.Contains(out, "tioga: n2: not drained: it does not answer: ") {
		t.Errorf("slurmctld is away: %v\n%s", err, out)
	}
	w.start(theController)
	if why := w.drained("n2"); why != "weft: a fan" {
		t.Errorf("n2 is drained: %s", why)
	}
	weft("resume", "n2")
	w.inService("n2")
	w.clean()
}
