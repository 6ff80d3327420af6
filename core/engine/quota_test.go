package engine

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
)

func limited(most int, e Enforce) Decision {
	d := app()
	d.Quotas = []Quota{{Name: "per user", Subject: "user alice", Most: most, Enforce: e}}
	return d
}

// Two jobs that were decided at the same time cannot both have the last one.
func TestQuotaRace(t *testing.T) {
	w := newWorld(t, 100, "n1", "n2")
	w.granted("n1", job("1", "n1"), limited(2, EnforceDeny))
	var ins [2]Reserve
	for i, n := range []string{"n1", "n2"} {
		j := job(n, n)
		ins[i] = w.ask(n, j)
		ins[i].Said = &Said{Began: w.now.Run, Job: j, Decision: limited(2, EnforceDeny)}
	}
	if _, err := w.outcome(w.step(ins[0]), ins[0].Call); err != nil {
		t.Fatal(err)
	}
	acts := w.step(ins[1])
	if _, err := w.outcome(acts, ins[1].Call); err == nil || err.Reason != core.OverQuota || len(all[Fail](acts)) != 1 {
		t.Errorf("%v", acts)
	}
	w.granted("n2", job("n1", "n[1-2]"), limited(2, EnforceDeny)) // a further node of a job costs nothing
	bob := limited(2, EnforceDeny)
	bob.Quotas[0].Subject = "user bob"
	w.granted("n2", job("4", "n2"), bob)
}

// Active and draining reservations count; held and quarantined ones do not.
func TestQuotaOfStates(t *testing.T) {
	w := newWorld(t, 100, "n1", "n2")
	j := job("1", "n1")
	w.granted("n1", j, limited(1, EnforceDeny))
	full := func() {
		t.Helper()
		w.refused("n2", job("2", "n2"), limited(1, EnforceDeny), core.OverQuota)
	}
	full()
	w.pass(time.Second)
	w.final(j.Run)
	full()
	w.restart()
	w.attach("n1")
	w.attach("n2")
	w.pass(time.Second)
	full()
	w.detach("n1")
	w.tick(DefaultRules.Away)
	w.want(j.Run, Held)
	if len(w.m.quotas) != 0 {
		t.Errorf("held, and counts %v", w.m.quotas)
	}
	w.attach("n1")
	w.want(j.Run, Draining)
	full()
	w.tell("n1", heldAs(core.HeldClean, j.Run))
	w.want(j.Run, Quarantined)
	w.granted("n2", job("2", "n2"), limited(1, EnforceDeny))
}

func TestQuotaThatOnlyTells(t *testing.T) {
	w := newWorld(t, 100, "n1")
	if g := w.granted("n1", job("1", "n1"), limited(0, EnforceWarn)); len(g.Warnings) != 1 || !strings.Contains(g.Warnings[0], "alice has 0 of 0") {
		t.Errorf("%v", g.Warnings)
	}
	if g := w.granted("n1", job("2", "n1"), limited(0, EnforceDryRun)); len(g.Warnings) != 0 || !strings.Contains(all[Say](w.last)[0].Text, "dry run") {
		t.Errorf("%v, %v", g.Warnings, w.last)
	}
}

func TestQuotaOfAddresses(t *testing.T) {
	w := newWorld(t, 100, "n1")
	d := app()
	d.Collectives = 3
	d.Quotas = []Quota{{Name: "m", Subject: "all", Unit: UnitAddresses, Most: 5}}
	w.granted("n1", job("1", "n1"), d)
	w.refused("n1", job("2", "n1"), d, core.OverQuota)
	d.Collectives = 2
	w.granted("n1", job("2", "n1"), d)
}

// recount is what the quotas' tallies must be.
func (m *Machine) recount() map[tally]int {
	out := map[tally]int{}
	for _, r := range m.serials {
		if r.state != Active && r.state != Draining {
			continue
		}
		for _, q := range r.Grant.Quotas {
			if n := amount(q.Unit, &r.Grant, len(r.VNIs)); n != 0 {
				out[tally{q.Name, q.Subject, q.Unit}] += n
			}
		}
	}
	return out
}

func TestQuotaOfExtendedReservation(t *testing.T) {
	w := newWorld(t, 100, "n1")
	j := job("1", "n1")
	w.granted("n1", j, limited(9, EnforceDeny))
	w.attach("n1", heldAs(core.HeldReady, j.Run, 1080))
	if !maps.Equal(w.m.quotas, w.m.recount()) {
		t.Errorf("%v, want %v", w.m.quotas, w.m.recount())
	}
	w.pass(time.Second)
	w.final(j.Run)
	w.tell("n1", heldAs(core.HeldClean, j.Run))
	if len(w.m.quotas) != 0 {
		t.Errorf("%v", w.m.quotas)
	}
}
