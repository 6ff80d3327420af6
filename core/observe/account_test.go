package observe

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func config() Config {
	return Config{Pools: map[string]Pool{"jobs": {Size: 3, Quarantine: time.Minute}}, Schedulers: []string{"slurm"}}
}

func run(id int, uid uint32) core.Run {
	return core.Run{
		Key:         core.Key{JobID: core.JobID{Scheduler: "slurm", Job: fmt.Sprint(id)}},
		Fingerprint: core.Fingerprint{UID: uid, Submitted: int64(id)},
	}
}

func status(r core.Run, hosts string) core.JobStatus {
	return core.JobStatus{Run: r, State: core.JobRunning, Hosts: hosts}
}

func answer(jobs ...core.JobStatus) Answer {
	return Answer{Scheduler: "slurm", Jobs: core.Jobs{Complete: true, Jobs: jobs}}
}

func wants(vnis int, quotas ...engine.Quota) engine.Decision {
	d := engine.Decision{Quotas: quotas}
	for range vnis {
		d.VNIs = append(d.VNIs, engine.Wanted{Name: "app", Pool: "jobs"})
	}
	return d
}

// TestWhatWeftWouldHaveDone counts each job once, by the first reason against it.
func TestWhatWeftWouldHaveDone(t *testing.T) {
	a := New(config(), noon, State{})
	a.Read(noon, Read{Node: "n1", Devices: []string{"cxi0", "cxi1"}})
	a.Read(noon, Read{Node: "n2", Devices: []string{"cxi0", "cxi1"}})
	a.Read(noon, Read{Node: "n2", Devices: []string{"cxi0"}})
	quota := engine.Quota{Name: "few", Subject: "user alice", Most: 1}
	var all []core.JobStatus
	hosts := []string{"n1", "n1", "n1", "n[1-2]", "n1", "n1", "n1", "n1"}
	for i, h := range hosts {
		all = append(all, status(run(i, 7), h))
	}
	judge := a.Answer(noon, answer(all...))
	if len(judge) != len(all) {
		t.Fatalf("%d of %d jobs are to be judged", len(judge), len(all))
	}
	for i, in := range []Judged{
		{Decision: wants(1, quota), Took: time.Millisecond},
		{Decision: wants(1, quota), Took: 3 * time.Millisecond},
		{Decision: engine.Decision{Deny: core.Errorf(core.PolicyDenied, "no")}, Rule: "big"},
		{Decision: wants(2)},
		{Decision: wants(1)},
		{Decision: wants(0)},
		{Err: core.Errorf(core.SchedulerAway, "gone")},
		{Err: core.Errorf(core.BadRequest, "option x")},
	} {
		in.Run = run(i, 7)
		a.Judge(noon, in)
		a.Judge(noon, in)
	}
	r := a.Report(time.Time{})
	want := Counts{
		Jobs: 8, Granted: 1, Refused: 4, Drained: 1, Without: 1, Unjudged: 1, Services: 6,
		Decisions: 2, Took: 4 * time.Millisecond, Most: 3 * time.Millisecond,
	}
	if diff := cmp.Diff(want, r.Counts); diff != "" {
		t.Error(diff)
	}
	reasons := map[core.Reason]string{}
	for _, x := range r.Refusals {
		reasons[x.Reason] = fmt.Sprint(x.Jobs, x.Rule)
	}
	kinds := map[core.Reason]string{"quota-full": "1", "policy-denied": "1big", "pool-empty": "1", "bad-request": "1"}
	if diff := cmp.Diff(kinds, reasons); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]PoolUse{{"jobs", 3, 3, 3}}, r.Pools); diff != "" {
		t.Error(diff)
	}
	if len(r.Drains) != 1 || r.Drains[0].Node != "n2" || r.Drains[0].Jobs != 1 {
		t.Errorf("drains: %+v", r.Drains)
	}
	a.Answer(noon.Add(time.Second), answer())
	if now := a.Report(time.Time{}).Pools[0].Now; now != 3 {
		t.Errorf("%d VNIs are in use within their quarantine", now)
	}
	a.Scan(noon.Add(2 * time.Minute))
	if p := a.Report(time.Time{}).Pools[0]; p.Now != 0 || p.Peak != 3 {
		t.Errorf("after it: %+v", p)
	}
	if r := a.Report(noon.Add(time.Hour)); r.Jobs != 0 || len(r.Refusals) != 0 {
		t.Errorf("since later: %+v", r)
	}
}

func service(device string, id, uid uint32, vnis ...core.VNI) core.Service {
	return core.Service{Device: device, ID: id, Owner: core.UID(uid), VNIs: vnis}
}

// TestGivenTwice sees how sure the account is, and that it leaves out services that may have followed one another.
func TestGivenTwice(t *testing.T) {
	one := []core.Service{service("cxi0", 5, 7, 4000)}
	two := []core.Service{service("cxi0", 5, 8, 4000)}
	jobs := func(hosts ...string) (out []core.JobStatus) {
		for i, h := range hosts {
			out = append(out, status(run(i, 7), h))
		}
		return out
	}
	for _, c := range []struct {
		name   string
		n1, n2 []core.Service
		jobs   []core.JobStatus
		late   bool // n1's is gone before both were seen for long enough
		want   Sure
	}{
		{"two users", one, two, nil, false, Certain},
		{"two users, one after the other", one, two, nil, true, ""},
		{"one job", one, one, jobs("n[1-2]"), false, ""},
		{"two jobs of one user", one, one, jobs("n1", "n2"), false, Likely},
		{"one of which is on both nodes", one, one, jobs("n1", "n[1-2]"), false, ""},
		{"where one is placed is not known", one, one, jobs("n1", "n2", ""), false, ""},
		{"root's", []core.Service{service("cxi0", 5, 0, 4000)}, two, nil, false, ""},
	} {
		a := New(config(), noon, State{})
		a.Answer(noon, answer(c.jobs...))
		a.Read(noon, Read{Node: "n1", Services: c.n1})
		a.Read(noon, Read{Node: "n2", Services: c.n2})
		a.Scan(noon)
		if c.late {
			a.Read(noon.Add(5*time.Second), Read{Node: "n1"})
		}
		for _, s := range []int{15, 20} {
			a.Scan(noon.Add(time.Duration(s) * time.Second))
		}
		got := a.Report(time.Time{}).Twice
		if c.want == "" {
			if len(got) != 0 {
				t.Errorf("%s: %+v", c.name, got)
			}
			continue
		}
		if len(got) != 1 || got[0].VNI != 4000 || got[0].Sure != c.want || got[0].Last.Sub(got[0].Since) != 5*time.Second {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// TestLeftBehind sees a service whose job is over in the report after the grace, and when it is gone.
func TestLeftBehind(t *testing.T) {
	a := New(config(), noon, State{})
	at := func(s int) time.Time { return noon.Add(time.Duration(s) * time.Second) }
	a.Answer(at(0), answer(status(run(1, 7), "n1")))
	services := []core.Service{service("cxi0", 5, 7, 4000), service("cxi1", 9, 7, 4000), service("cxi0", 6, 8, 4001)}
	a.Read(at(0), Read{Node: "n1", Services: services})
	a.Scan(at(0))
	a.Answer(at(5), answer())
	for s := 5; s <= 34; s += 5 {
		a.Scan(at(s))
	}
	if got := a.Report(time.Time{}).Left; len(got) != 1 || got[0].UID != 8 || got[0].Sure != Unclear {
		t.Errorf("within the grace: %+v", got)
	}
	a.Scan(at(35))
	got := a.Report(time.Time{}).Left
	if len(got) != 2 || got[1].Job != "slurm/1" || got[1].Sure != Likely || len(got[1].Services) != 2 {
		t.Fatalf("left: %+v", got)
	}
	b := New(config(), at(36), a.State())
	b.Scan(at(40)) // nothing has reported, and no scheduler has answered
	if got := b.Report(time.Time{}).Left; len(got) != 2 || !got[1].Gone.IsZero() || got[1].Job != "slurm/1" {
		t.Errorf("after a restart: %+v", got)
	}
	b.Read(at(41), Read{Node: "n1"})
	b.Scan(at(45))
	if got := b.Report(time.Time{}).Left; len(got) != 2 || got[1].Gone.IsZero() {
		t.Errorf("gone: %+v", got)
	}
	blind := New(config(), noon, State{})
	blind.Answer(at(0), Answer{Scheduler: "slurm", Jobs: core.Jobs{Blind: "it may not see all"}})
	blind.Read(at(0), Read{Node: "n1", Services: []core.Service{service("cxi0", 5, 7, 4000)}})
	for s := range 20 {
		blind.Scan(at(5 * s))
	}
	if got := blind.Report(time.Time{}).Left; len(got) != 0 {
		t.Errorf("of a blind scheduler: %+v", got)
	}
}

// TestTheAccountAddsUp over random histories: jobs have the VNIs in use, or they rest, and a restart changes nothing.
func TestTheAccountAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, now := New(config(), noon, State{}), noon
		quota := engine.Quota{Name: "few", Subject: "user", Most: 3}
		running := map[core.Run]bool{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 90).Draw(t, "s")) * time.Second)
			r := run(rapid.IntRange(0, 9).Draw(t, "job"), 7)
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				running[r] = true
				a.Answer(now, Answer{Scheduler: "slurm", Jobs: core.Jobs{Jobs: []core.JobStatus{status(r, "n1")}}})
			case 1:
				delete(running, r)
				a.Answer(now, Answer{Scheduler: "slurm", Jobs: core.Jobs{Jobs: []core.JobStatus{{Run: r, State: core.JobFinal}}}})
			case 2:
				a.Judge(now, Judged{Run: r, Job: core.Job{Run: r}, Decision: wants(rapid.IntRange(0, 2).Draw(t, "vnis"), quota)})
				running[r] = true
			case 3:
				var jobs []core.JobStatus
				for r := range running {
					jobs = append(jobs, status(r, ""))
				}
				a.Answer(now, answer(jobs...))
			case 4:
				a.Scan(now)
			case 5:
				text, err := json.Marshal(a.State())
				if err != nil {
					t.Fatal(err)
				}
				var s State
				if err := json.Unmarshal(text, &s); err != nil {
					t.Fatal(err)
				}
				before := a.Report(time.Time{})
				a = New(config(), now, s)
				after := a.Report(time.Time{})
				if diff := cmp.Diff(before, after); diff != "" {
					t.Fatal(diff)
				}
			}
			sum, held := 0, 0
			for _, j := range a.jobs {
				sum += len(j.Pools)
				held += len(j.Pools)
			}
			for _, r := range a.resting {
				sum += r.VNIs
			}
			counted := 0
			for n := range maps.Values(a.quotas) {
				counted += n
			}
			if a.used["jobs"] != sum || sum > 3 || counted != held {
				t.Fatalf("%d VNIs in use, %d of jobs and at rest; %d of %d count", a.used["jobs"], sum, counted, held)
			}
			c := a.Report(time.Time{}).Counts
			if c.Jobs != c.Granted+c.Refused+c.Drained+c.Without+c.Unjudged {
				t.Fatalf("%+v", c)
			}
		}
	})
}
