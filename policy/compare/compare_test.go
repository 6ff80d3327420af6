package compare_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/history"
	"github.com/weft-hpc/weft/policy"
	"github.com/weft-hpc/weft/policy/compare"
	"github.com/weft-hpc/weft/policy/facts"
)

const base = `
traffic_classes = ["BEST_EFFORT"]
limits          = "per_core"
vnis            = ["app"]
limits "per_core" {
  txqs = { reserved = 2 * share.cores, max = 1024 }
}
vni "app" { pool = "jobs" }
vni "job" { pool = "jobs" }
`

func load(t *testing.T, text string) *policy.Policy {
	t.Helper()
	p, findings := policy.Load([]hclfile.Source{{Name: "a.policy.hcl", Text: []byte(text)}}, policy.Env{Pools: []string{"jobs"}, Nodes: "n[1-8]"})
	if p == nil {
		t.Fatal(hclfile.AsError(findings))
	}
	return p
}

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func row(user string, from, to int) history.Row {
	r := history.Row{Made: noon.Add(time.Duration(from) * time.Minute), Job: facts.Job{ID: "7", Scheduler: "s", User: user, Nodes: "1", Cores: 4}}
	if to > 0 {
		r.Ended = noon.Add(time.Duration(to) * time.Minute)
	}
	return r
}

func TestQuotasOverTime(t *testing.T) {
	quota := func(enforce string) *policy.Policy {
		return load(t, base+`
quota "few" {
  per     = "user"
  vnis    = 2
  enforce = "`+enforce+`"
}
`)
	}
	// Two of ann's run; the third comes while they do, the fourth once one has ended; bob's are his own.
	rows := []history.Row{row("ann", 0, 10), row("ann", 1, 30), row("ann", 5, 30), row("ann", 10, 30), row("bob", 6, 0), row("eve", 7, 7)}
	r := compare.Compare(load(t, base), quota("deny"), "n[1-8]", nil, []compare.Pool{{Name: "jobs", Size: 3}}, rows)
	if r.Changed != 0 || r.Jobs != 6 || len(r.Before.Quotas) != 0 {
		t.Errorf("%+v", r)
	}
	if !r.Worse() {
		t.Error("a job more is refused, and it is not worse")
	}
	at := func(minute int) time.Time { return noon.Add(time.Duration(minute) * time.Minute) }
	if q := r.After.Quotas; len(q) != 1 || q[0].Enforce != "deny" || !q[0].Refuses() || !q[0].FirstAt.Equal(at(5)) || !q[0].LastAt.Equal(at(5)) || !slices.Equal(q[0].Spans.Spans, []compare.Span{{From: at(5), To: at(30)}}) {
		t.Errorf("%+v", q)
	}
	if before, after := r.Before.Pools[0].Spans.Spans, r.After.Pools[0].Spans.Spans; len(after) != 0 || !slices.Equal(before, []compare.Span{{From: at(6), To: at(30)}}) {
		t.Errorf("%+v, %+v", before, after)
	}
	if q := r.After.Quotas; len(q) != 1 || q[0].Jobs != 1 || !strings.Contains(q[0].First, "user ann may hold 2 VNIs: 2 are in use") {
		t.Errorf("%+v", q)
	}
	if before, after := r.Before.Pools[0], r.After.Pools[0]; before.Peak != 4 || before.Short != 2 || after.Peak != 3 || after.Short != 0 || !after.At.Equal(noon.Add(6*time.Minute)) {
		t.Errorf("%+v, %+v", before, after)
	}
	// Who is only warned takes all the same.
	r = compare.Compare(load(t, base), quota("warn"), "n[1-8]", nil, []compare.Pool{{Name: "jobs", Size: 3}}, rows)
	if q := r.After.Quotas; len(q) != 1 || q[0].Jobs != 2 || r.After.Pools[0].Peak != 4 || q[0].Enforce != "warn" || q[0].Refuses() || !q[0].LastAt.Equal(at(10)) {
		t.Errorf("%+v", r.After)
	}
	if r.Worse() {
		t.Error("nobody is refused, and no pool is shorter, and it is worse")
	}
}

// However often a pool runs out, the first times are named and the others counted; those that touch are one.
func TestSpansAreBounded(t *testing.T) {
	var rows []history.Row
	const times = 25
	for i := range times {
		rows = append(rows, row("ann", 10*i, 10*i+5), row("bob", 10*i+1, 10*i+3), row("eve", 10*i+3, 10*i+4))
	}
	r := compare.Compare(load(t, base), load(t, base), "n[1-8]", nil, []compare.Pool{{Name: "jobs", Size: 1}}, rows)
	p := r.After.Pools[0]
	if p.Short != 2*times || len(p.Spans.Spans) != compare.MaxSpans || p.More != times-compare.MaxSpans {
		t.Errorf("%+v", p)
	}
	for i, s := range p.Spans.Spans {
		if from := noon.Add(time.Duration(10*i+1) * time.Minute); !s.From.Equal(from) || s.To.Sub(from) != 3*time.Minute {
			t.Errorf("span %d is %+v", i, s)
		}
	}
	r = compare.Compare(load(t, base), load(t, base), "n[1-8]", nil, []compare.Pool{{Name: "jobs", Size: 1}}, []history.Row{row("ann", 0, 0), row("bob", 3, 0)})
	if s := r.After.Pools[0].Spans.Spans; len(s) != 1 || !s[0].From.Equal(noon.Add(3*time.Minute)) || !s[0].To.IsZero() {
		t.Errorf("jobs that run on: %+v", s)
	}
}

func TestQuarantineTakesVNIsToo(t *testing.T) {
	rows := []history.Row{row("ann", 0, 10), row("ann", 11, 20)}
	for seconds, want := range map[float64]int{59: 1, 60: 1, 61: 2} {
		r := compare.Compare(load(t, base), load(t, base), "n[1-8]", nil, []compare.Pool{{Name: "jobs", Size: 1, Quarantine: seconds}}, rows)
		if p := r.After.Pools[0]; p.Peak != want || p.Short != want-1 {
			t.Errorf("%v s: %+v", seconds, p)
		}
	}
}

func TestEachAttributeHasItsRule(t *testing.T) {
	with := `
rule "change" {
  match { users = ["ann"] }
  %
}
`
	for what, text := range map[string]string{
		"vnis": `vnis = ["app", "job"]`, "traffic_classes": `traffic_classes = ["LOW_LATENCY"]`, "min_nics": "min_nics = 2", "collectives": "collectives = { addresses = 4 }",
		"floor": "floor = { txqs = 2 }",
	} {
		t.Run(what, func(t *testing.T) {
			a, b := load(t, base), load(t, base+strings.ReplaceAll(with, "%", text))
			for in, r := range map[string]compare.Report{
				"new": compare.Compare(a, b, "n[1-8]", nil, nil, []history.Row{row("ann", 0, 1), row("bob", 0, 1)}),
				"old": compare.Compare(b, a, "n[1-8]", nil, nil, []history.Row{row("ann", 0, 1), row("bob", 0, 1)}),
			} {
				if r.Changed != 1 || len(r.Groups) != 1 || r.Groups[0].What != what {
					t.Errorf("%s: %+v", in, r)
				} else if g := r.Groups[0]; g.Jobs != 1 || in == "new" && (g.In != "new" || g.By.Name != "change") || g.In == "old" && g.By.Name != "change" {
					t.Errorf("%s: %+v", in, g)
				}
			}
		})
	}
	nobody := row("ann", 0, 1)
	nobody.Job.Nodes = "99"
	if r := compare.Compare(load(t, base), load(t, base), "n[1-8]", nil, nil, []history.Row{nobody}); r.Unused != 1 || r.Jobs != 0 {
		t.Errorf("%+v", r)
	}
}
