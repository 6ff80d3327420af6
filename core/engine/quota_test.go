package engine

import (
	"fmt"
	"maps"
	"slices"
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
		ins[i].Said = &Said{Began: w.now.Uptime, Job: j, Decision: limited(2, EnforceDeny)}
	}
	if _, err := w.outcome(w.step(ins[0]), ins[0].Call); err != nil {
		t.Fatal(err)
	}
	acts := w.step(ins[1])
	if _, err := w.outcome(acts, ins[1].Call); err == nil || err.Reason != core.QuotaFull || len(all[Fail](acts)) != 1 || !all[Fail](acts)[0].Again {
		t.Errorf("%v", acts)
	}
	w.granted("n2", job("n1", "n[1-2]"), limited(2, EnforceDeny)) // a further node of a job costs nothing
	bob := limited(2, EnforceDeny)
	bob.Quotas[0].Subject = "user bob"
	w.granted("n2", job("4", "n2"), bob)
}

// TestQuotaEndsAJob: a job that can never fit ends, and so does one whose quota has on_full = "refuse".
func TestQuotaEndsAJob(t *testing.T) {
	w := newWorld(t, 100, "n1")
	w.granted("n1", job("1", "n1"), limited(1, EnforceDeny))
	ends := limited(1, EnforceDeny)
	ends.Quotas[0].Ends = true
	for _, c := range []struct {
		d     Decision
		why   core.Reason
		again bool
	}{
		{limited(1, EnforceDeny), core.QuotaFull, true},
		{limited(0, EnforceDeny), core.OverQuota, false},
		{ends, core.OverQuota, false},
	} {
		w.refused("n1", job("2", "n1"), c.d, c.why)
		if fail := all[Fail](w.last); len(fail) != 1 || fail[0].Again != c.again {
			t.Errorf("%+v: %v", c.d.Quotas, fail)
		}
		if full := w.m.Room(core.JobID{Job: "2"}, c.d, map[string]int{"jobs": 100}); full == nil || full.Reason != c.why {
			t.Errorf("%+v: room %v", c.d.Quotas, full)
		}
	}
}

// Active and draining reservations count; held and quarantined ones do not.
func TestQuotaOfStates(t *testing.T) {
	w := newWorld(t, 100, "n1", "n2")
	j := job("1", "n1")
	w.granted("n1", j, limited(1, EnforceDeny))
	full := func() {
		t.Helper()
		w.refused("n2", job("2", "n2"), limited(1, EnforceDeny), core.QuotaFull)
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
		t.Errorf("held, and counts %v", w.m.tallies())
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
	if g := w.granted("n1", job("1", "n1"), limited(0, EnforceWarn)); len(g.Warnings) != 1 || !strings.Contains(g.Warnings[0], `quota "per user": user alice may hold 0 VNIs: 0 are in use, and this job wants 1`) {
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
	w.refused("n1", job("2", "n1"), d, core.QuotaFull)
	d.Collectives = 2
	w.granted("n1", job("2", "n1"), d)
}

// tallies are the sums that the machine keeps.
func (m *Machine) tallies() map[tally]int {
	out := map[tally]int{}
	for k, u := range m.quotas {
		out[k] = u.sum
	}
	return out
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
	if !maps.Equal(w.m.tallies(), w.m.recount()) {
		t.Errorf("%v, want %v", w.m.tallies(), w.m.recount())
	}
	w.pass(time.Second)
	w.final(j.Run)
	w.tell("n1", heldAs(core.HeldClean, j.Run))
	if len(w.m.quotas) != 0 {
		t.Errorf("%v", w.m.tallies())
	}
}

// A refusal says what the quota is, what is in use and by whom, also after a restart.
func TestQuotaNamesWhoHasIt(t *testing.T) {
	w := newWorld(t, 100, "n1")
	for i := range 10 {
		w.granted("n1", job(fmt.Sprintf("j%02d", i), "n1"), limited(10, EnforceDeny))
	}
	want := func(what string) {
		t.Helper()
		if err := w.refused("n1", job("late", "n1"), limited(10, EnforceDeny), core.QuotaFull); err.What != what {
			t.Errorf("%s\nwant %s", err.What, what)
		}
	}
	jobs := "slurm/j00, slurm/j01, slurm/j02, slurm/j03, slurm/j04, slurm/j05, slurm/j06, slurm/j07"
	want(`quota "per user": user alice may hold 10 VNIs: 10 are in use by ` + jobs + ` and 2 more, and this job wants 1`)
	w.restart()
	w.attach("n1")
	want(`quota "per user": user alice may hold 10 VNIs: 10 are in use by ` + jobs + ` and 2 more, and this job wants 1`)
	w.final(job("j00", "n1").Run)
	w.tell("n1", heldAs(core.HeldClean, job("j00", "n1").Run))
	w.granted("n1", job("late", "n1"), limited(10, EnforceDeny))
	if got := w.m.quotas[tally{"per user", "user alice", UnitVNIs}]; got.sum != 10 || got.jobs.Len() != 10 {
		t.Errorf("%d VNIs of %d jobs", got.sum, got.jobs.Len())
	}
}

// A job that asks for nothing of what a quota counts is not refused by it, however far its subject is above a limit that was lowered.
func TestQuotaOfNothing(t *testing.T) {
	w := newWorld(t, 100, "n1")
	d := app()
	d.Collectives = 3
	d.Quotas = []Quota{{Name: "m", Subject: "all", Unit: UnitAddresses, Most: 5}}
	w.granted("n1", job("1", "n1"), d)
	d.Collectives, d.Quotas = 0, []Quota{{Name: "m", Subject: "all", Unit: UnitAddresses, Most: 1}}
	w.granted("n1", job("2", "n1"), d)
	d.Collectives = 2
	if err := w.refused("n1", job("3", "n1"), d, core.OverQuota); !strings.Contains(err.Remedy, "never fit") {
		t.Errorf("%s", err.Line())
	}
}

// What is tried out is told to the log, with the job and the node, and refuses nobody.
func TestTrialsAreOnlyLogged(t *testing.T) {
	w := newWorld(t, 100, "n1")
	d := app()
	d.Trials = []string{"deny \"big\": too big"}
	g := w.granted("n1", job("1", "n1"), d)
	says := all[Say](w.last)
	if len(g.Warnings) != 0 || says[0].Text != "dry run: deny \"big\": too big" || says[0].Level != Warn || says[0].Run.Job != "1" || says[0].Node != "n1" {
		t.Errorf("%v, %v", g.Warnings, says)
	}
}

// Each quota is shown by what all hold of it, and by the subject that is nearest to its bound, which its newest job has.
func TestQuotaUse(t *testing.T) {
	w := newWorld(t, 100, "n1")
	grant := func(id, subject string, most, addresses int) {
		t.Helper()
		d := app()
		d.Collectives = addresses
		d.Quotas = []Quota{{Name: "q", Subject: subject, Most: most}, {Name: "q", Subject: subject, Unit: UnitAddresses, Most: 40}}
		w.granted("n1", job(id, "n1"), d)
	}
	want := func(use ...QuotaUse) {
		t.Helper()
		f := w.m.Figures()
		if got := f.Quotas(); !slices.Equal(got, use) {
			t.Errorf("%+v, want %+v", got, use)
		}
	}
	want()
	for i := range 3 {
		grant(fmt.Sprint("a", i), "user ann", 10, 0)
	}
	grant("b", "user bob", 2, 7)
	want(QuotaUse{"q", UnitVNIs, 4, 2, 1, 2}, QuotaUse{"q", UnitAddresses, 7, 1, 7, 40})
	grant("a3", "user ann", 4, 0) // the bound was lowered
	want(QuotaUse{"q", UnitVNIs, 5, 2, 4, 4}, QuotaUse{"q", UnitAddresses, 7, 1, 7, 40})
	for _, id := range []string{"a0", "a1", "a2", "a3"} {
		w.pass(time.Second)
		w.final(job(id, "n1").Run)
		w.tell("n1", heldAs(core.HeldClean, job(id, "n1").Run))
	}
	want(QuotaUse{"q", UnitVNIs, 1, 1, 1, 2}, QuotaUse{"q", UnitAddresses, 7, 1, 7, 40})
	none := limited(0, EnforceWarn) // beyond a bound of nothing is nearer than any other
	none.Quotas[0].Name, none.Quotas[0].Subject = "q", "user eve"
	w.granted("n1", job("e", "n1"), none)
	want(QuotaUse{"q", UnitVNIs, 2, 2, 1, 0}, QuotaUse{"q", UnitAddresses, 7, 1, 7, 40})
}

// Whoever goes beyond a quota is told of once a prepare, with what comes of it.
func TestQuotaTellsWhoWentBeyond(t *testing.T) {
	w := newWorld(t, 100, "n1")
	for _, by := range []Enforce{EnforceDeny, EnforceWarn, EnforceDryRun} {
		j := job(by.String(), "n1")
		if by == EnforceDeny {
			w.refused("n1", j, limited(0, by), core.OverQuota)
		} else {
			w.granted("n1", j, limited(0, by))
		}
		if got := all[Over](w.last); !slices.Equal(got, []Over{{j.Key, "per user", by}}) {
			t.Errorf("%s: %+v", by, got)
		}
	}
	w.granted("n1", job("fits", "n1"), limited(9, EnforceDeny))
	if got := all[Over](w.last); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestQuotaOfOne(t *testing.T) {
	d := app()
	want := `quota "q": user ann may hold 1 VNI: 1 is in use, and this job wants 1`
	if got := (Quota{Name: "q", Subject: "user ann", Most: 1}).Over(&d, 1); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
