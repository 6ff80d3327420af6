package policy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

const quotas = `
quota "per user" {
  per       = "user"
  vnis      = contains(job.groups, "ops") ? 100 : 8
  addresses = system.nodes / 2
}
quota "debug" {
  match { queues = ["debug"] }
  per     = "queue"
  vnis    = 4
  enforce = "warn"
}
quota "account" {
  when    = job.nodes > 1
  per     = "account"
  vnis    = 20
  on_full = "refuse"
  enforce = "dry_run"
}
quota "scheduler" {
  match { nodes = "n8" }
  per     = "scheduler"
  vnis    = 1000
  on_full = "wait"
}
quota "all" {
  per       = "all"
  addresses = 4086
}
rule "collectives" {
  when        = job.request.collectives
  collectives = { addresses = 2 }
}
rule "off" {
  when = job.request.off
  vnis = []
}
`

func TestQuotas(t *testing.T) {
	p := load(t, base, quotas)
	user := engine.Quota{Name: "per user", Subject: "user ann", Most: 8}
	account := engine.Quota{Name: "account", Subject: "account acc", Most: 20, Enforce: engine.EnforceDryRun, Ends: true}
	with := func(q engine.Quota, change func(*engine.Quota)) engine.Quota {
		change(&q)
		return q
	}
	for name, c := range map[string]struct {
		change func(*core.Job)
		want   []engine.Quota
	}{
		"plain":      {nil, []engine.Quota{user, account}},
		"ops":        {func(j *core.Job) { j.Groups = []string{"ops"} }, []engine.Quota{with(user, func(q *engine.Quota) { q.Most = 100 }), account}},
		"queue":      {func(j *core.Job) { j.Queue = "debug" }, []engine.Quota{user, {Name: "debug", Subject: "queue debug of tioga", Most: 4, Enforce: engine.EnforceWarn}, account}},
		"one node":   {func(j *core.Job) { j.Placements[0] = core.Placement{Hosts: "n1", Nodes: 1, Cores: 4} }, []engine.Quota{user}},
		"node":       {func(j *core.Job) { j.Placements[0].Hosts = "n[7-8]" }, []engine.Quota{user, account, {Name: "scheduler", Subject: "scheduler tioga", Most: 1000}}},
		"no name":    {func(j *core.Job) { j.User = "" }, []engine.Quota{with(user, func(q *engine.Quota) { q.Subject = "uid 1000" }), account}},
		"no account": {func(j *core.Job) { j.Account = "" }, []engine.Quota{user, with(account, func(q *engine.Quota) { q.Subject = "no account" })}},
		"nothing":    {func(j *core.Job) { j.Request.Off = true }, nil},
		"addresses": {func(j *core.Job) { j.Request.Collectives = true }, []engine.Quota{
			user, {Name: "per user", Subject: "user ann", Unit: engine.UnitAddresses, Most: 4}, account, {Name: "all", Subject: "all jobs", Unit: engine.UnitAddresses, Most: 4086},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := facts(c.change)
			f.Job.Groups = append(f.Job.Groups, "x")
			d := p.Decide(f)
			if d.Deny != nil {
				t.Fatal(d.Deny)
			}
			if diff := cmp.Diff(c.want, d.Quotas, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEnforce(t *testing.T) {
	const text = `
deny "big" {
  when    = job.nodes > 1
  message = "too big"
  enforce = "ENFORCE"
}
deny "broken" {
  when    = job.groups[9] == "x"
  message = "never"
  enforce = "ENFORCE"
}
quota "broken" {
  per     = "user"
  vnis    = 3 - 2 * job.nodes
  enforce = "ENFORCE"
}
`
	of := func(enforce string) engine.Decision {
		return load(t, base, strings.ReplaceAll(text, "ENFORCE", enforce)).Decide(facts(nil))
	}
	if d := of("deny"); d.Deny == nil || d.Deny.What != `policy: deny "big": too big` {
		t.Errorf("%+v", d)
	}
	if d := of("warn"); d.Deny != nil || len(d.VNIs) != 1 || d.Trials != nil || d.Quotas != nil || len(d.Warnings) != 3 || d.Warnings[0] != `policy: deny "big": too big (a warning only)` ||
		!strings.HasPrefix(d.Warnings[1], `policy: deny "broken" (b.policy.hcl:7): when: `) || !strings.HasPrefix(d.Warnings[2], `policy: quota "broken" (b.policy.hcl:14): vnis: -1 is not`) {
		t.Errorf("%+v", d)
	}
	if d := of("dry_run"); d.Deny != nil || len(d.VNIs) != 1 || d.Warnings != nil || len(d.Trials) != 3 || d.Trials[0] != `policy: deny "big": too big` {
		t.Errorf("%+v", d)
	}
	// Each deny that was for the job is told, to be counted, and none after the one that refused.
	for by, want := range map[engine.Enforce][]engine.Denial{
		engine.EnforceDeny:   {{Name: "big", Enforce: engine.EnforceDeny}},
		engine.EnforceWarn:   {{Name: "big", Enforce: engine.EnforceWarn}, {Name: "broken", Enforce: engine.EnforceWarn}},
		engine.EnforceDryRun: {{Name: "big", Enforce: engine.EnforceDryRun}, {Name: "broken", Enforce: engine.EnforceDryRun}},
	} {
		p := load(t, base, strings.ReplaceAll(text, "ENFORCE", by.String()))
		d, denies := p.Judge(facts(nil))
		if diff := cmp.Diff(p.Decide(facts(nil)), d, cmpopts.IgnoreUnexported(core.Error{})); diff != "" || !slices.Equal(denies, want) {
			t.Errorf("%v: %+v, %s", by, denies, diff)
		}
	}
	// A quota that is enforced and cannot be told refuses, and so does a deny.
	for name, one := range map[string]string{
		"quota": "quota \"q\" {\n  per = \"all\"\n  vnis = 3 - 2 * job.nodes\n}\n",
		"when":  "quota \"q\" {\n  when = job.groups[9] == \"x\"\n  per = \"all\"\n  vnis = 3\n}\n",
	} {
		if d := load(t, base, one).Decide(facts(nil)); d.Deny == nil || d.Deny.Reason != core.PolicyFault || !strings.Contains(d.Deny.What, `quota "q" (b.policy.hcl:`) {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// Names of classes and resources are read as the kernel and Slurm spell them, in any case.
func TestSpellings(t *testing.T) {
	p := load(t, `traffic_classes = ["TC_BEST_EFFORT", "low_latency"]
limits = "l"
vnis   = ["app"]
floor  = { TXQ = 2 }
limits "l" {
  TXQ  = { reserved = 4, max = 8 }
  les  = { reserved = 1, max = 2 }
  TLEs = { reserved = 8, max = 8 }
}
vni "app" { pool = "jobs" }
`)
	d := p.Decide(facts(nil))
	want := limits(map[core.Resource]core.Limit{core.TXQ: {Reserved: 4, Max: 8}, core.LE: {Reserved: 1, Max: 2}, core.TLE: {Reserved: 8, Max: 8}})
	if d.Deny != nil || d.Classes != core.BestEffort|core.LowLatency || d.Limits[0] != want || d.Floor[core.TXQ] != 2 {
		t.Errorf("%+v", d)
	}
}

func TestFunctions(t *testing.T) {
	for _, when := range []string{
		`lookup({ batch = 2, debug = 4 }, job.queue, 0) == 2`, `length(setintersection(job.groups, ["phys", "chem"])) == 1`, `replace(job.user, "n", "m") == "amm"`,
		`join(",", job.groups) == "phys,users"`, `coalesce(null, job.queue) == "batch"`, `element(job.groups, 1) == "users"`, `substr(job.user, 0, 1) == "a"`,
		`parseint("40", 16) == 64`, `regex("^a[a-z]+$", job.user) == "ann"`, `sort(["b", "a"])[0] == "a"`, `strrev("ab") == "ba"`, `sort(keys({ a = 1 }))[0] == "a"`,
		`contains(values({ a = job.user }), "ann")`, `merge({ a = 1 }, { b = 2 })["b"] == 2`, `zipmap(["a"], [job.nodes])["a"] == 2`, `trim("?x?", "?") == "x"`,
		`reverse(job.groups)[0] == "users"`, `slice(job.groups, 0, 1)[0] == "phys"`, `title(job.user) == "Ann"`, `int(7 / 2) == 3`, `length(compact(["", "a"])) == 1`,
		`length(flatten([["a"], ["b"]])) == 2`, `length(setunion(job.groups, ["x"])) == 3`, `length(setsubtract(job.groups, ["phys"])) == 1`, `signum(-3) == -1`,
		`trimspace(" a ") == "a" && chomp("a\n") == "a"`, `log(job.nodes, 2) == 1`, `coalescelist([], job.groups)[0] == "phys"`,
	} {
		d := load(t, base, rule(when)).Decide(facts(nil))
		if d.Deny != nil || d.MinNICs != 1 {
			t.Errorf("%s: %v", when, d.Deny)
		}
	}
}
