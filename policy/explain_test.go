package policy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/policy"
)

const site = `
rule "large" {
  when        = job.nodes >= 64
  collectives = { addresses = multicast_share(4086, system.nodes, 64, 1) }
}
rule "storage" {
  match {
    users  = ["ann", "daos"]
    queues = ["io", "batch"]
  }
  traffic_classes = ["BULK_DATA", "LOW_LATENCY"]
  min_nics        = 2
}
rule "wide" {
  when            = (job.cores > 4 && !contains(job.groups, "ops")) || job.request.off
  traffic_classes = ["LOW_LATENCY"]
}
rule "elsewhere" {
  match {
    groups = ["chem"]
    nodes  = "n[1-4]"
  }
  floor = { txqs = 1 }
}
quota "per user" {
  per  = "user"
  vnis = 8
}
deny "no ops" {
  when    = job.nodes < 8 && contains(job.groups, "ops") && job.queue != "debug"
  message = "${job.user} of ops needs 8 nodes"
}
deny "tried" {
  match { nodes = "n1" }
  message = "n1 is old"
  enforce = "dry_run"
}
`

func TestExplain(t *testing.T) {
	p := load(t, base, site)
	for name, change := range map[string]func(*core.Job){
		"granted": func(j *core.Job) {
			j.Request.Classes, j.Request.Depth, j.Request.Limits[core.TXQ].Max = core.LowLatency, 3, u16(90)
			j.Request.Exact = true
			j.Placements = append(j.Placements, core.Placement{Hosts: "n3", Nodes: 1, Cores: 8}, core.Placement{Hosts: "n4", Nodes: 1, Cores: 4})
		},
		"denied":  func(j *core.Job) { j.Groups = []string{"ops"} },
		"request": func(j *core.Job) { j.Request.Classes = core.DedicatedAccess },
	} {
		t.Run(name, func(t *testing.T) {
			out, err := json.MarshalIndent(p.Explain(facts(change)), "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			out = []byte(strings.ReplaceAll(string(out), p.Hash(), "HASH") + "\n")
			path := filepath.Join("testdata", "explain-"+name+".json")
			if *update {
				if err := os.WriteFile(path, out, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(out)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", path, diff)
			}
		})
	}
}

// Why a block did not match is told down to what was false and what it read.
func TestWhy(t *testing.T) {
	for when, want := range map[string]string{
		`job.nodes >= 64`:   "when: job.nodes >= 64 is false: job.nodes is 2",
		`job.request.off`:   "when: job.request.off is false",
		`!(job.nodes == 2)`: "when: job.nodes == 2 is true: job.nodes is 2",
		`job.nodes > 1 && (job.queue == "x" || contains(job.groups, "ops")) && job.nodes > 7`: `when: job.queue == "x" is false: job.queue is "batch"; contains(job.groups, "ops") is false: job.groups is ["phys", "users"]`,
		`job.nodes > 1 && job.user == "ann"`:                                                  `when: job.nodes > 1 is true: job.nodes is 2; job.user == "ann" is true: job.user is "ann"`,
		`job.nodes > 4 || job.user == "ann"`:                                                  `when: job.user == "ann" is true: job.user is "ann"`,
		`job.cores / (job.nodes - 2) > 1`:                                                     `policy: rule "r" (b.policy.hcl:1): when: Operation failed: Error during operation: division by zero`,
		`job.nodes > system.nodes`:                                                            "when: job.nodes > system.nodes is false: job.nodes is 2, system.nodes is 8",
		`job.nodes > 4 ? job.request.off : job.user == "bob"`:                                 `when: job.nodes > 4 ? job.request.off : job.user == "bob" is false: job.nodes is 2, job.request.off is false, job.user is "ann"`,
	} {
		b := load(t, base, rule(when)).Explain(facts(nil)).Blocks[0]
		if b.Why != want {
			t.Errorf("%s\n got %s\nwant %s", when, b.Why, want)
		}
	}
}

// rules draws a policy's rules, denies and quotas, some of which fail for some jobs.
func rules(t *rapid.T) string {
	var b strings.Builder
	conditions := rapid.SampledFrom([]string{
		"", "", "  when = job.nodes > 2\n", "  when = job.request.off\n", "  when = contains(job.groups, \"phys\") || job.queue == \"io\"\n",
		"  when = job.groups[0] == \"phys\"\n", "  when = 12 / job.cores > 1\n", "  when = !(job.user == \"ann\" && job.cores > 3)\n",
	})
	matches := rapid.SampledFrom([]string{
		"", "", "  match { users = [\"ann\"] }\n", "  match {\n    queues = [\"io\", \"ops\"]\n    groups = [\"phys\", \"ops\"]\n  }\n", "  match { nodes = \"n[1-4]\" }\n",
		"  match { groups = [\"users\", \"phys\"] }\n", "  match { accounts = [\"\"] }\n",
	})
	sets := rapid.SampledFrom([]string{
		"min_nics = 2", "traffic_classes = [\"BULK_DATA\"]", "vnis = []", "vnis = [\"app\", \"job\"]", "floor = { txqs = job.nodes }", "collectives = { addresses = 12 / job.nodes }",
		"limits = \"large\"",
	})
	enforce := rapid.SampledFrom([]string{"deny", "warn", "dry_run"})
	for i := range rapid.IntRange(0, 8).Draw(t, "rules") {
		condition := matches.Draw(t, "match") + conditions.Draw(t, "when")
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 4:
			fmt.Fprintf(&b, "deny \"b%d\" {\n%s  message = \"no ${12 / job.nodes}\"\n  enforce = %q\n}\n", i, condition, enforce.Draw(t, "enforce"))
		case 5:
			fmt.Fprintf(&b, "quota \"b%d\" {\n%s  per = \"user\"\n  vnis = 12 / job.nodes\n  addresses = 9\n  enforce = %q\n}\n", i, condition, enforce.Draw(t, "enforce"))
		default:
			fmt.Fprintf(&b, "rule \"b%d\" {\n%s  %s\n}\n", i, condition, sets.Draw(t, "sets"))
		}
	}
	return b.String()
}

const large = "limits \"large\" {\n  txqs = { reserved = share.cores + 1, max = 90 }\n}\n"

// Explain's decision is Decide's, and what it says of blocks and attributes is what was decided.
func TestExplainIsWhatWasDecided(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := load(t, base+large, rules(t))
		for range 4 {
			f := engine.Facts{Job: jobs(t), System: engine.System{Nodes: 8}}
			d, x := p.Decide(f), p.Explain(f)
			if diff := cmp.Diff(d, x.Decision, cmpopts.IgnoreUnexported(core.Error{})); diff != "" {
				t.Fatalf("(-Decide +Explain):\n%s", diff)
			}
			if _, err := json.Marshal(x); err != nil {
				t.Fatal(err)
			}
			var matched []string
			sets := map[string]policy.Block{}
			for _, b := range x.Blocks {
				if b.Unasked {
					if b.Sets != nil || b.Ended {
						t.Fatalf("%+v", b)
					}
					continue
				}
				fails := b.Outcome == policy.Failed && (b.When == nil || b.When.Error == "") && !slices.ContainsFunc(b.Lists, func(l policy.List) bool { return !l.Hit })
				if b.Kind != "quota" && (b.Outcome == policy.Matched || b.Kind == "deny" && fails) {
					matched = append(matched, b.Name)
				}
				if b.When != nil && b.Outcome == policy.Matched && b.When.Value != "true" || b.Outcome == policy.Unmatched && b.When == nil && len(b.Lists) == 0 || b.Why == "" {
					t.Fatalf("%+v", b)
				}
				for _, name := range b.Sets {
					sets[name] = b
				}
			}
			if diff := cmp.Diff(d.Rules, matched, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("(-Decide +blocks that matched):\n%s", diff)
			}
			for _, a := range x.Attributes {
				if by, ok := sets[a.Name]; ok && a.Set.Name != by.Name || !ok && a.Set.Kind == "rule" {
					t.Fatalf("%s is set by %+v, the last that set it is %+v", a.Name, a.Set, by)
				}
			}
			if d.Deny == nil && len(d.VNIs) > 0 && len(d.Limits) > 0 {
				if got, want := x.Shares[0].Resources[0], d.Limits[0][core.TXQ]; got.Reserved != want.Reserved || got.Max != want.Max || got.Name != "txqs" {
					t.Fatalf("%+v, want %+v", got, want)
				}
			}
		}
	})
}

// A decision does not change by rules that are not for the job, wherever they stand, whatever they would set or get wrong.
func TestRulesThatDoNotMatchChangeNothing(t *testing.T) {
	others := []string{
		"rule \"x\" {\n  match { users = [\"nobody\"] }\n  when = job.groups[99] == \"x\"\n  vnis = []\n}\n",
		"deny \"x\" {\n  when = job.request.off && !job.request.off\n  message = job.groups[99]\n}\n",
		"quota \"x\" {\n  match { schedulers = [\"slurm\"] }\n  when = job.scheduler != \"slurm\"\n  per = \"all\"\n  vnis = 0\n}\n",
	}
	rapid.Check(t, func(t *rapid.T) {
		own, other := rules(t), rapid.SampledFrom(others).Draw(t, "other")
		plain := load(t, base+large, own)
		for _, texts := range [][]string{{base + large, other, own}, {base + large, own, other}} {
			p := load(t, texts...)
			for range 4 {
				f := engine.Facts{Job: jobs(t), System: engine.System{Nodes: 8}}
				a, b := plain.Decide(f), p.Decide(f)
				a.Policy, b.Policy = "", ""
				for _, d := range []*engine.Decision{&a, &b} { // a fault names its file, which is another
					if d.Deny != nil && d.Deny.Reason == core.PolicyFault {
						d.Deny = core.Errorf(core.PolicyFault, "a fault")
					}
					for _, list := range [][]string{d.Warnings, d.Trials} {
						for i := range list {
							list[i] = strings.ReplaceAll(list[i], "c.policy.hcl", "b.policy.hcl")
						}
					}
				}
				if diff := cmp.Diff(a, b, cmpopts.IgnoreUnexported(core.Error{})); diff != "" {
					t.Fatalf("(-without +with):\n%s", diff)
				}
			}
		}
	})
}

// An error inside any rule, deny or quota that is enforced denies the job and names it.
func TestAnyFaultDenies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bad := rapid.SampledFrom([]string{"1 / (job.nodes - job.nodes) > 1", `job.groups[99] == "x"`, `parseint("x${job.user}", 10) > 1`, `regex("^x{3}$", job.user) == "y"`}).Draw(t, "bad")
		kind := rapid.SampledFrom([]string{"rule \"bad\" {\n  min_nics = 1\n", "deny \"bad\" {\n  message = \"no\"\n", "quota \"bad\" {\n  per = \"all\"\n  vnis = 9\n"}).Draw(t, "kind")
		p := load(t, base+large, kind+"  when = "+bad+"\n}\n", rules(t))
		d := p.Decide(facts(func(j *core.Job) { j.User = rapid.SampledFrom([]string{"ann", "bob", ""}).Draw(t, "user") }))
		if d.Deny == nil || d.Deny.Reason != core.PolicyFault || !strings.Contains(d.Deny.What, `"bad" (b.policy.hcl:1)`) || d.VNIs != nil {
			t.Fatalf("%+v", d)
		}
	})
}
