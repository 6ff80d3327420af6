package engine

import (
	"github.com/google/go-cmp/cmp"

	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
)

// A reboot proves the runs of the boot before clean, and nothing that the session of that boot still says counts.
func TestRebootIsClean(t *testing.T) {
	w, run := draining(t)
	w.tell("n1", heldAs(core.HeldClean, run))
	old := w.m.nodes["n2"].session
	w.reboot("n2")
	w.want(run, Quarantined)
	w.step(Report{"n2", old, core.Report{Number: 9, Boot: "n2-boot1", Held: []core.Held{heldAs(core.HeldReady, run, 1024)}}})
	w.want(run, Quarantined)
	w.restart()
	w.attach("n2")
	w.want(run, Quarantined)
}

// The log tells a reboot, a second host, and a report that does not say its boot from each other.
func TestWhatTheLogSaysOfBoots(t *testing.T) {
	w, _ := draining(t)
	said := func(acts []Action) string {
		t.Helper()
		says := all[Say](acts)
		if len(says) == 0 || says[len(says)-1].Node != "n2" {
			t.Fatalf("it says %+v", says)
		}
		return says[len(says)-1].Text
	}
	if got := said(w.reboot("n2")); got != "rebooted: its 1 joins of the boot before hold nothing there any more" {
		t.Error(got)
	}
	w.session++
	second := said(w.step(Report{"n2", w.session, core.Report{Number: 1, Full: true, Boot: "n2-boot1"}}))
	if !strings.Contains(second, "boot n2-boot1+ and") || !strings.HasSuffix(second, "boot n2-boot1") || !strings.Contains(second, core.TwinPrefix) {
		t.Error(second)
	}
	w.session++
	if got := said(w.step(Report{"n2", w.session, core.Report{Number: 1, Full: true}})); !strings.Contains(got, "without a boot id") || strings.Contains(got, "which was before") {
		t.Error(got)
	}
}

// The reboot of a job's node while the job lives frees nothing.
func TestRebootWhileActive(t *testing.T) {
	w := newWorld(t, 100, "n1")
	j := job("7", "n1")
	w.granted("n1", j, app())
	w.reboot("n1")
	w.tick(time.Hour)
	w.want(j.Run, Active)
	w.final(j.Run)
	w.want(j.Run, Quarantined)
}

func TestRetiredBootsAreBounded(t *testing.T) {
	w := newWorld(t, 100, "n1")
	for i := range 3 * MaxRetired {
		w.boots["n1"] = strconv.Itoa(i)
		w.attach("n1")
	}
	n := w.m.nodes["n1"]
	if len(n.Retired) != MaxRetired || n.Retired[MaxRetired-1] != strconv.Itoa(3*MaxRetired-2) || slices.Contains(n.Retired, n.Boot) {
		t.Errorf("boot %s after %v", n.Boot, n.Retired)
	}
}

// Nothing of an older session, no number twice, no change before the full report, no boot id but the session's, nothing after the session's end.
func TestReportsThatDoNotCount(t *testing.T) {
	clean := func(run core.Run) []core.Held { return []core.Held{heldAs(core.HeldClean, run)} }
	for _, tt := range []struct {
		name string
		in   func(w *world, run core.Run) Report
	}{
		{"an older session", func(w *world, run core.Run) Report {
			return Report{"n2", w.m.nodes["n2"].session - 1, core.Report{Number: 100, Full: true, Boot: w.boots["n2"], Held: clean(run)}}
		}},
		{"a number twice", func(w *world, run core.Run) Report {
			return Report{"n2", w.m.nodes["n2"].session, core.Report{Number: 1, Boot: w.boots["n2"], Held: clean(run)}}
		}},
		{"a change in a new session", func(w *world, run core.Run) Report {
			return Report{"n2", w.session + 1, core.Report{Number: 1, Boot: w.boots["n2"], Held: clean(run)}}
		}},
		{"another boot in the session", func(w *world, run core.Run) Report {
			return Report{"n2", w.m.nodes["n2"].session, core.Report{Number: 2, Boot: "n2-boot7", Held: clean(run)}}
		}},
		{"no boot", func(w *world, run core.Run) Report {
			return Report{"n2", w.session + 1, core.Report{Number: 1, Full: true, Held: clean(run)}}
		}},
		{"after the end", func(w *world, run core.Run) Report {
			w.detach("n2")
			return Report{"n2", w.m.nodes["n2"].session, core.Report{Number: 2, Boot: w.boots["n2"], Held: clean(run)}}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, run := draining(t)
			w.tell("n1", heldAs(core.HeldClean, run))
			in := tt.in(w, run)
			acts := w.step(in)
			w.want(run, Draining)
			if len(all[Order](acts)) != 0 || len(w.written) != 0 {
				t.Errorf("%v, wrote %v", acts, w.written)
			}
		})
	}
}

// The end of an older session does not end the newer one.
func TestDetachOfOlderSession(t *testing.T) {
	w := newWorld(t, 100, "n1")
	old := w.session
	w.attach("n1")
	w.step(Detach{"n1", old})
	w.step(Detach{"n9", old})
	w.granted("n1", job("7", "n1"), app())
	w.detach("n1")
	w.refused("n1", job("8", "n1"), app(), core.NodeAway)
}

// A node says of itself alone: its word about a run counts for its own join.
func TestReportProvesOneNode(t *testing.T) {
	w, run := draining(t)
	w.tell("n3", heldAs(core.HeldClean, run))
	w.tell("n1", heldAs(core.HeldClean, run))
	w.want(run, Draining)
}

func TestInventory(t *testing.T) {
	w := newWorld(t, 100)
	told := func(acts []Action) (n []int) {
		for _, o := range all[Order](acts) {
			n = append(n, len(o.Orders.Inventory))
		}
		return n
	}
	if diff := cmp.Diff([]int{0}, told(w.begin("n1", core.Report{Devices: []string{}}))); diff != "" {
		t.Error("a node without a NIC:", diff)
	}
	if diff := cmp.Diff([]int{2}, told(w.more("n1", core.Report{Changed: true, Devices: []string{"cxi0", "cxi1"}}))); diff != "" {
		t.Error("its first NICs:", diff)
	}
	if diff := cmp.Diff([]int(nil), told(w.more("n1", core.Report{Changed: true, Devices: []string{"cxi0"}}))); diff != "" {
		t.Error("one vanished:", diff)
	}
	if diff := cmp.Diff([]int{2}, told(w.begin("n1", core.Report{Devices: []string{"cxi0"}}))); diff != "" {
		t.Error("its next session:", diff)
	}
	inventory := func() []string { return w.granted("n1", job(strconv.Itoa(int(w.calls)), "n1"), app()).Inventory }
	if got := inventory(); len(got) != 2 {
		t.Errorf("a NIC that vanished is out of the inventory: %v", got)
	}
	if diff := cmp.Diff([]int{1}, told(w.step(Accept{1, "n1"}))); diff != "" {
		t.Error("when it is accepted:", diff)
	}
	if got := inventory(); len(got) != 1 {
		t.Errorf("the inventory is %v after it was accepted", got)
	}
	w.restart()
	if got := w.m.nodes["n1"].Inventory; len(got) != 1 {
		t.Errorf("the inventory is %v after a restart", got)
	}
	if d := all[Done](w.step(Accept{2, "n1"})); len(d) != 1 || d[0].Err == nil {
		t.Errorf("accepted a node that is away: %v", d)
	}
}

func TestDrainOfNodes(t *testing.T) {
	w := newWorld(t, 100, "n1")
	w.cfg.Nodes = []string{"n1", "n2"}
	w.step(Configure{w.cfg})
	acts := w.step(SetDrain{Call: 1, Node: "n2", Reason: "cable"}) // it never reported
	if d := all[Drain](acts); len(d) != 1 || d[0] != (Drain{Node: "n2", Reason: "cable"}) {
		t.Errorf("%v", acts)
	}
	if d := all[Done](w.step(SetDrain{Call: 2, Node: "n3", Reason: "cable"})); len(d) != 1 || d[0].Err == nil || d[0].Err.Reason != core.NotThere {
		t.Errorf("%v", d)
	}
	if d := all[Drain](w.more("n1", core.Report{Fault: "cxi0: no link"})); len(d) != 1 || d[0].Node != "n1" {
		t.Errorf("%v", d)
	}
	if d := all[Drain](w.more("n1", core.Report{Fault: "cxi0: no link"})); len(d) != 0 {
		t.Errorf("the same fault again: %v", d)
	}
	w.restart()
	w.attach("n2")
	w.attach("n1")
	for n := range w.m.Nodes("") {
		if n.Drained == "" {
			t.Errorf("%s is not drained after a restart", n.Name)
		}
	}
	for range 2 { // the second for a scheduler that missed the first
		if r := all[Resume](w.step(SetDrain{Call: 3, Node: "n1", Reason: ""})); len(r) != 1 || r[0].Node != "n1" {
			t.Errorf("%v", r)
		}
	}
	if got := w.m.nodes["n1"].Drained; got != "" {
		t.Errorf("still drained: %s", got)
	}
}
