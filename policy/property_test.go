package policy_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

var texts = rapid.OneOf(rapid.SampledFrom([]string{"", "ann", "io", "ops", "phys", "\xff", "${job.user}", "e\u0301", "a\nb"}), rapid.String())

// jobs draws jobs as odd as an adapter could make them, and odder.
func jobs(t *rapid.T) core.Job {
	// rapid prefers small numbers and the ends of ranges, so chances are made of a remainder.
	rarely := func(label string) bool { return rapid.IntRange(0, 1<<20).Draw(t, label)%8 == 5 }
	odd := rarely("odd") // a job that is odd in all ways is denied for the first of them
	sane := func(most int, label string) int { return rapid.IntRange(0, most).Draw(t, label) }
	number := rapid.OneOf(rapid.IntRange(0, 4), rapid.SampledFrom([]int{-1, 64, 1024, 1025, 70000, math.MaxInt, math.MinInt}))
	job := core.Job{
		Run: core.Run{
			Key:         core.Key{JobID: core.JobID{Scheduler: texts.Draw(t, "scheduler"), Job: texts.Draw(t, "id")}},
			Fingerprint: core.Fingerprint{UID: rapid.Uint32().Draw(t, "uid")},
		},
		User: texts.Draw(t, "user"), Account: texts.Draw(t, "account"), Queue: texts.Draw(t, "queue"),
		Groups: rapid.SliceOfN(texts, 0, 3).Draw(t, "groups"),
		Request: core.Request{
			Off: rarely("off"), VNIs: number.Draw(t, "vnis"), JobVNI: rapid.Bool().Draw(t, "job vni"), SingleNode: rarely("single"),
			Classes: core.Classes(rapid.Uint8().Draw(t, "classes")), Depth: number.Draw(t, "depth"), Collectives: rapid.Bool().Draw(t, "collectives"),
			Exact: rapid.Bool().Draw(t, "exact"),
		},
	}
	hosts := rapid.SampledFrom([]string{"n1", "n[1-4]", "n[3-6]"})
	if odd {
		hosts = rapid.OneOf(rapid.SampledFrom([]string{"", "n[", "n[1-999999999]"}), rapid.String())
	} else {
		job.Request.VNIs, job.Request.Depth, job.Request.Classes = rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "few VNIs"), sane(60, "depth"),
			rapid.SampledFrom([]core.Classes{0, 0, 0, core.LowLatency, core.BestEffort, core.BulkData, core.AllClasses}).Draw(t, "some classes")
		job.Request.JobVNI = rarely("some job VNI")
		job.Groups = rapid.SampledFrom([][]string{nil, {"phys"}, {"phys", "users"}, {"ops"}}).Draw(t, "some groups")
	}
	for range rapid.IntRange(0, 3).Draw(t, "shares") {
		job.Placements = append(job.Placements, core.Placement{
			Hosts: hosts.Draw(t, "hosts"),
			Nodes: sane(70, "nodes"), Cores: sane(40, "cores"),
		})
		if odd {
			job.Placements[len(job.Placements)-1].Cores = number.Draw(t, "odd cores")
		}
	}
	amount := rapid.Ptr(rapid.OneOf(rapid.Uint16Range(0, 20), rapid.Uint16Range(0, 120), rapid.Uint16()), true)
	for i := range job.Request.Limits {
		given := core.Resource(i) == core.TXQ || core.Resource(i) == core.LE
		if given && rapid.IntRange(0, 1<<20).Draw(t, "given limit")%3 == 1 || rarely("limit") && rarely("limit of nothing") {
			job.Request.Limits[i] = core.LimitRequest{PerCore: amount.Draw(t, "per core"), Reserved: amount.Draw(t, "reserved"), Max: amount.Draw(t, "max")}
		}
	}
	told := rapid.Ptr(texts, true)
	job.Told = core.Told{
		QOS: told.Draw(t, "qos"), Reservation: told.Draw(t, "reservation"), Constraints: told.Draw(t, "constraints"),
		TimeLimit: rapid.Ptr(rapid.SampledFrom([]int64{0, 1, 8, 86400, core.Unlimited}), true).Draw(t, "time limit"),
	}
	return job
}

const wide = `
rule "io" {
  match { queues = ["io"] }
  traffic_classes = ["BULK_DATA"]
  vnis            = ["app", "job", "daos"]
}
rule "nodes" {
  match { nodes = "n[1-4]" }
  collectives = { addresses = 7 }
}
rule "off" {
  when = job.request.off
  vnis = []
}
deny "ops" {
  match { groups = ["ops"] }
  message = "no ${job.account}"
}
`

// Whatever a user asks for, the job gets no more than the policy's text says, and each grant can be carried by a CXI service.
func TestNoRequestGetsMoreThanPolicy(t *testing.T) {
	p := load(t, base, wide)
	granted, limited := 0, 0
	defer func() {
		if granted < 50 || limited < 10 {
			t.Errorf("%d jobs were granted something and %d of them had limits of their own: the test shows nothing", granted, limited)
		}
	}()
	one := func(t *rapid.T) {
		job := jobs(t)
		d := p.Decide(engine.Facts{Job: job, System: engine.System{Nodes: 8}})
		if d.Policy != p.Hash() {
			t.Fatalf("policy %q", d.Policy)
		}
		if d.Deny != nil {
			if d.Deny.Scope() != core.ScopeJob || d.Deny.What == "" || strings.ContainsAny(d.Deny.What, "\n\x1b") {
				t.Fatalf("deny %+v", d.Deny)
			}
			if d.VNIs != nil || d.Classes != 0 || d.Limits != nil || d.Collectives != 0 || d.Degrade {
				t.Fatalf("a deny grants: %+v", d)
			}
			return
		}
		if slices.Contains(job.Groups, "ops") {
			t.Fatal("a deny that matches did not end it")
		}
		if len(d.VNIs) == 0 {
			if d.Classes != 0 || d.Limits != nil || d.Collectives != 0 {
				t.Fatalf("no VNI, but %+v", d)
			}
			return
		}
		granted++
		classes, most := core.BestEffort|core.LowLatency, 1
		if job.Queue == "io" {
			classes, most = core.BulkData, 3
		}
		if d.Classes == 0 || d.Classes&^classes != 0 || len(d.VNIs) > most || d.VNIs[0].Pool != "jobs" {
			t.Fatalf("granted %+v", d)
		}
		for i, v := range d.VNIs {
			if v.Pool == "daos" && i != 2 {
				t.Fatalf("daos at index %d", i)
			}
		}
		if r := job.Request; r.Classes != 0 && d.Classes != r.Classes || r.JobVNI && len(d.VNIs) < 2 {
			t.Fatalf("a request was clipped: %+v of %+v", d, r)
		}
		if len(d.Limits) != len(job.Placements) {
			t.Fatalf("%d limits for %d shares", len(d.Limits), len(job.Placements))
		}
		ceiling := limits(map[core.Resource]core.Limit{core.TXQ: {Max: 100}, core.LE: {Max: 64}})
		for _, l := range d.Limits {
			for i, limit := range l {
				r := job.Request.Limits[i]
				if limit.Max > ceiling[i].Max || limit.Reserved > limit.Max {
					t.Fatalf("%s: %+v", core.Resource(i), limit)
				}
				if r.Max != nil || r.Reserved != nil {
					limited++
				}
				if r.Max != nil && limit.Max != *r.Max || r.Reserved != nil && limit.Reserved != *r.Reserved {
					t.Fatalf("%s: %+v was clipped to %+v", core.Resource(i), r, limit)
				}
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		for range 50 { // enough even for a short run, which draws a fifth as often
			one(t)
		}
	})
}

// A decision is the same however often and in whichever process it is made: the same text and facts, loaded again.
func TestDecideIsAFunction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for i := range rapid.IntRange(0, 12).Draw(t, "rules") {
			fmt.Fprintf(&b, "rule \"r%d\" {\n", i)
			if rapid.Bool().Draw(t, "match") {
				names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"ann", "bob", "io", "ops", "phys"}), 1, 4, rapid.ID).Draw(t, "names")
				fmt.Fprintf(&b, "  match { %s = [\"%s\"] }\n", rapid.SampledFrom([]string{"users", "groups", "queues", "accounts"}).Draw(t, "field"), strings.Join(names, "\", \""))
			}
			if rapid.Bool().Draw(t, "when") {
				fmt.Fprintf(&b, "  when = job.nodes > %d\n", rapid.IntRange(0, 5).Draw(t, "than"))
			}
			fmt.Fprintf(&b, "  min_nics = %d\n}\n", i+1)
		}
		job := jobs(t)
		f := engine.Facts{Job: job, System: engine.System{Nodes: 8}}
		one, two := load(t, base, b.String()), load(t, base, b.String())
		first := one.Decide(f)
		for _, p := range []engine.Policy{one, two} {
			if diff := cmp.Diff(first, p.Decide(f), cmpopts.IgnoreUnexported(core.Error{})); diff != "" {
				t.Fatal(diff)
			}
		}
		if first.Deny == nil && len(first.VNIs) > 0 && len(first.Rules) > 0 {
			var last int
			if _, err := fmt.Sscanf(first.Rules[len(first.Rules)-1], "r%d", &last); err != nil || first.MinNICs != last+1 {
				t.Fatalf("rules %v gave min_nics %d: the last must win", first.Rules, first.MinNICs)
			}
		}
	})
}

// What is computed without HCL gives what HCL gives, and the same complaint.
func TestLinearLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(0, 70000)).Draw(t, "k")
		form := rapid.SampledFrom([]string{"%d * share.cores", "share.cores * %d", "(share.cores * %d)", "(%d) * share.cores"}).Draw(t, "form")
		fast := fmt.Sprintf(form, k)
		slow := load(t, strings.Replace(base, "2 * share.cores", "("+fast+") + 0", 1))
		quick := load(t, strings.Replace(base, "2 * share.cores", fast, 1))
		cores := rapid.OneOf(rapid.IntRange(0, 300), rapid.SampledFrom([]int{-1, 70000, math.MaxInt, math.MinInt})).Draw(t, "cores")
		f := facts(func(j *core.Job) { j.Placements[0].Cores = cores })
		one, two := slow.Decide(f), quick.Decide(f)
		one.Policy, two.Policy = "", ""
		if diff := cmp.Diff(one, two, cmpopts.IgnoreUnexported(core.Error{})); diff != "" {
			t.Fatalf("%s of %d cores (-HCL +direct):\n%s", fast, cores, diff)
		}
	})
}
