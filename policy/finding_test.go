package policy_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/policy"
)

func golden(t *testing.T, name string, findings []hclfile.Finding) {
	t.Helper()
	got := text(findings)
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(path, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not what was found (-want +got):\n%s", path, diff)
	}
}

// rule is a rule with this condition.
func rule(when string) string { return "rule \"r\" {\n  when = " + when + "\n  min_nics = 1\n}\n" }

func TestFindings(t *testing.T) {
	for name, texts := range map[string][]string{
		"empty":          {""},
		"variable":       {base, rule("jib.nodes > 1 && job.qeue == \"x\" && job.request.offf && system.node > 1")},
		"share-in-rule":  {base, rule("share.cores > 1")},
		"function":       {base, rule("contain(job.groups, \"x\") || frobnicate(1)")},
		"arguments":      {base, rule("contains(job.groups)")},
		"hidden-by-and":  {base, rule("job.request.off && job.nodes")},
		"hidden-by-or":   {base, rule("job.request.off || (job.request.job_vni && upper(job.user) + 1 > 2)")},
		"unary":          {base, rule("!job.nodes || -job.queue > 1")},
		"compare":        {base, rule("job.nodes == \"64\"")},
		"compare-text":   {base, rule("job.queue != 5 || job.request.off")},
		"compare-three":  {base, rule("job.nodes == job.cores == true")},
		"not-bool":       {base, rule("job.queue")},
		"when-text":      {base, rule("\"true\"")},
		"contains-type":  {base, rule("contains(job.groups, job.uid)")},
		"contains-class": {base, rule("contains(job.request.traffic_classes, \"DEDICATED\") || contains(job.request.traffic_classes, \"LOW_LATENCI\")")},
		"contains-limit": {base, rule("contains(job.request.limits, \"txq\")")},
		"for":            {base, rule("length([for g in job.groups : g]) > 1")},
		"constant":       {base, rule("1 > 2"), "rule \"s\" {\n  when = true\n  min_nics = 1\n}\ndeny \"all\" {\n  message = \"closed\"\n}\n"},
		"constant-zero":  {base, rule("1 / 0 > 2"), "rule \"s\" {\n  when = job.nodes / 0 > 1 || 7 % (2 - 2) == job.nodes\n  min_nics = 1\n}\n"},
		"null":           {base, rule("job.queue == null || contains(job.groups, null)"), "rule \"s\" {\n  when = null\n  min_nics = 1\n}\n"},
		"lists":          {base, rule("job.groups == [\"a\"] || [] != job.request.traffic_classes || {} == {a = 1}")},
		"whole":          {base, rule("job[job.user] == \"x\" || length(job.request) > 1 || lookup(system, \"nods\", 1) > 2 || job == job")},
		"attribute":      {base, "rule \"r\" {\n  traffic_class = [\"BULK_DATA\"]\n  wen = true\n}\nruel \"x\" {}\n"},
		"on-failure":     {base + "on_failure = \"degarde\"\n", "rule \"r\" {\n  on_failure = \"degrade\"\n  min_nics = 1\n}\n"},
		"classes":        {base, "rule \"r\" {\n  traffic_classes = [\"BULK_DTA\", \"BULK_DATA\", \"BULK_DATA\"]\n}\nrule \"s\" {\n  traffic_classes = []\n}\nrule \"t\" {\n  traffic_classes = \"BULK_DATA\"\n}\n"},
		"vnis":           {base, "rule \"r\" {\n  vnis = [\"ap\", \"app\", \"app\"]\n}\nrule \"s\" {\n  vnis = [\"app\", \"daos\"]\n}\nrule \"t\" {\n  vnis = [\"daos\"]\n}\nrule \"u\" {\n  vnis = [\"app\", \"job\", \"daos\", \"app\", \"job\"]\n}\n"},
		"vni-block":      {base, "vni \"x\" { pool = \"job\" }\nvni \"y\" { service = \"lustre\" }\nvni \"z\" {}\nvni \"w\" {\n  pool = \"jobs\"\n  service = \"daos\"\n}\n"},
		"vni-step":       {base, "vni \"step\" {\n  pool = \"jobs\"\n  count = 4\n  beyond = \"shrae\"\n}\nvni \"x\" {\n  pool = \"jobs\"\n  count = 2\n}\n", "rule \"r\" {\n  vnis = [\"step\"]\n}\n"},
		"vni-step-count": {base, "vni \"step\" {\n  pool = \"jobs\"\n  count = 3\n}\nrule \"r\" {\n  vnis = [\"app\", \"job\", \"step\"]\n}\nrule \"s\" {\n  vnis = [\"app\", \"step\", \"daos\"]\n}\n"},
		"limits-name":    {base, "rule \"r\" {\n  limits = \"smal\"\n}\n"},
		"limits-block":   {base, "limits \"l\" {\n  txqz = 1\n  txqs = 4\n  les = { reserved = 2, maxx = 3 }\n  eqs = { reserved = 5, max = 4 }\n  cts = { reserved = 1, max = 65536 }\n  acs = { reserved = -1, max = share.core }\n  ptes = { reserved = 1, max = \"2\" }\n  tgqs = { reserved = 1, reserved = 2, max = 3 }\n}\n"},
		"floor":          {base + "floor = { txqz = 1, les = 1.5, eqs = share.cores }\n"},
		"min-nics":       {base, "rule \"r\" {\n  min_nics = 0\n}\nrule \"s\" {\n  min_nics = \"some\"\n}\nrule \"t\" {\n  min_nics = 1.5\n}\n"},
		"collectives":    {base, "rule \"r\" {\n  collectives = { addreses = 1 }\n}\nrule \"s\" {\n  collectives = 4\n}\nrule \"t\" {\n  collectives = { addresses = multicast_share(4086, system.nodes, 64) }\n}\n"},
		"match":          {base, "rule \"r\" {\n  match {\n    usres = [\"a\"]\n    groups = []\n    queues = \"io\"\n    accounts = [1]\n    schedulers = [\"tioja\"]\n    nodes = \"n[1-9]\"\n  }\n  min_nics = 1\n}\nrule \"s\" {\n  match {}\n  min_nics = 1\n}\nrule \"t\" {\n  match { nodes = \"n[\" }\n  match { users = [job.user] }\n  min_nics = 1\n}\n"},
		"twice":          {base, "vnis = []\nvni \"app\" { pool = \"jobs\" }\nrule \"r\" {\n  min_nics = 1\n}\n", "rule \"r\" {\n  min_nics = 1\n}\n"},
		"nothing-set":    {base, "rule \"r\" {\n  when = job.nodes > 1\n}\nrule \"s\" {\n  match { users = [\"a\"] }\n}\n"},
		"deny":           {base, "deny \"d\" {\n  when = job.nodes > 1\n}\ndeny \"e\" {\n  when = job.nodes > 1\n  message = \"for ${jop.user}\"\n  vnis = []\n}\ndeny \"f\" {\n  when = job.nodes > 1\n  message = job.nodes\n}\n"},
		"message":        {base, "deny \"d\" {\n  when = job.nodes > 1\n  message = \"\"\n}\ndeny \"e\" {\n  when = job.nodes > 1\n  message = \" ${\"\"}\"\n}\n"},
		"enforce":        {base, "deny \"d\" {\n  when = job.nodes > 1\n  message = \"no\"\n  enforce = \"warm\"\n}\nrule \"r\" {\n  enforce = \"warn\"\n  min_nics = 1\n}\n"},
		"quota":          {base, "quota \"q\" {\n  per = \"usr\"\n  vnis = 65536\n  on_full = \"later\"\n}\nquota \"r\" {\n  per = \"all\"\n}\nquota \"s\" {\n  vnis = share.cores\n  adresses = 1\n  enforce = 1\n}\nquota \"q\" {\n  per = job.user\n  addresses = -1\n}\nqouta \"t\" {}\n"},
		"spellings":      {base, "limits \"l\" {\n  TXQ = { reserved = 1, max = 2 }\n  txqs = { reserved = 1, max = 2 }\n}\nrule \"r\" {\n  floor = { les = 1, LE = 2 }\n  traffic_classes = [\"TC_bulk_data\", \"BULK_DATA\", \"ETH\"]\n}\n"},
		"argument-types": {base, rule("contains(job.user, \"x\") || length(concat(job.groups, job.user)) > 1 || contains({a = 1}, 1)"), "rule \"s\" {\n  when = max(job.queue, 3) > 2 || substr(job.user, job.account, 1) == \"a\" || parseint(job.user, \"10\") > 1\n  min_nics = 1\n}\nrule \"t\" {\n  when = \"a${job.groups}\" == job.user\n  min_nics = 1\n}\ndeny \"d\" {\n  when = job.nodes > 1\n  message = \"you are in ${job.groups}\"\n}\n"},
		"infinite":       {base, rule("log(0, 10) < 1 || log(2, 1) > 1 || log(-1, 10) > 1 || int(log(job.nodes, 0)) > 1")},
		"join-bomb":      {base, rule("strlen(join(\"" + strings.Repeat("x", 2000) + "\", [\"a\", \"b\", \"c\", \"d\"])) > 1")},
		"replace-bomb":   {base, rule("strlen(replace(\"" + strings.Repeat("x", 100) + "\", \"\", \"" + strings.Repeat("y", 100) + "\")) > 1")},
		"scheduler":      {base, rule("job.scheduler == \"tioja\" || \"x\" != job.scheduler || job.scheduler == \"tioga\"")},
		"idle": {base, `
rule "range" {
  when     = job.nodes > 64 && (job.queue == "x" && 65 > job.nodes)
  min_nics = 1
}
rule "two queues" {
  when     = job.queue == "a" && job.queue == "b"
  min_nics = 1
}
rule "match and when" {
  match { users = ["ann", "bob"] }
  when     = job.user == "eve"
  min_nics = 1
}
rule "opposite" {
  when     = job.request.off && !job.request.off
  min_nics = 1
}
rule "replaced" {
  match { users = ["ann"] }
  when            = job.nodes  > 1 && job.request.off
  min_nics        = 1
  traffic_classes = ["BULK_DATA"]
}
rule "first half" {
  when            = job.nodes > 1
  traffic_classes = ["BEST_EFFORT"]
}
rule "second half" {
  match { users = ["ann", "bob"] }
  min_nics = 2
}
rule "refused" {
  match { nodes = "n[1-2]" }
  min_nics = 3
}
deny "nodes" {
  match { nodes = "n[1-4]" }
  message = "not there"
}
deny "again" {
  match {
    nodes = "n1"
    users = ["ann", "bob", "ann"]
  }
  message = "never said"
}
quota "refused" {
  match { nodes = "n4" }
  per  = "user"
  vnis = 1
}
rule "few nodes" {
  match {
    nodes  = "n[1-2]"
    queues = ["de*"]
  }
  when     = job.nodes > 2
  min_nics = 4
}
quota "few nodes" {
  match { nodes = "n5" }
  when = job.nodes > 2
  per  = "user"
  vnis = 1
}
rule "no topology" {
  when     = job.spread > 1
  min_nics = 4
}
rule "no group" {
  match { groups = ["chem", "phys"] }
  when     = !contains(job.groups, "phys") && job.nodes > 3 && !(contains(job.groups, "chem"))
  min_nics = 4
}
rule "no user" {
  match { users = ["eve"] }
  when     = "eve" != job.user
  min_nics = 4
}
`},
		"idle-not":        {base, "rule \"less\" {\n  when = job.nodes > 3 && !(job.nodes >= 2)\n  min_nics = 1\n}\nrule \"more\" {\n  when = !(3 > job.nodes) && job.nodes < 3\n  min_nics = 1\n}\nrule \"twice\" {\n  when = !(!(job.nodes == 4)) && !!(job.nodes != 3) && job.nodes < 4\n  min_nics = 1\n}\nrule \"text\" {\n  when = job.queue == \"a\" && !(job.queue != \"b\") && job.nodes > 1\n  min_nics = 1\n}\nrule \"another\" {\n  when = !(job.queue != \"a\") && !(job.queue == \"a\")\n  min_nics = 1\n}\nrule \"last\" {\n  when = job.nodes == 3\n  min_nics = 1\n}\n"},
		"syntax":          {base, "rule \"r\" {\n  when = job.nodes >\n}\n", "rule {\n"},
		"syntax-of-one":   {base, "rule \"r\" {\n  when = job.qeue == \"x\"\n  vnis = [\"in c\"]\n  limits = \"in c\"\n}\n", "vni \"in c\" {\n"},
		"twice-body":      {base, "traffic_classes = [\"BULK\"]\nvni \"app\" { pool = \"jbs\" }\nrule \"r\" {\n  min_nics = 1\n}\nrule \"r\" {\n  min_nics = 65\n}\nlimits \"small\" {\n  txqz = 1\n}\n"},
		"twice-attribute": {base, "vnis = [\"app\"]\nvnis = []\nrule \"r\" {\n  min_nics = 65\n  min_nics = 1\n  when = job.qeue == \"x\"\n}\nruel \"x\" {}\n"},
		"name":            {base, "rule \"\" {\n  min_nics = 1\n}\nrule \"a\\nb\" {\n  min_nics = 1\n}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p, findings := policy.Load(sources(texts...), env)
			if len(findings) == 0 || (p == nil) != hclfile.Failed(findings) {
				t.Fatalf("policy %v, %s", p != nil, text(findings))
			}
			golden(t, name, findings)
		})
	}
}

func TestBounds(t *testing.T) {
	var many []string
	for range policy.MaxFiles + 1 {
		many = append(many, base)
	}
	var rules strings.Builder
	for i := range policy.MaxRules + 1 {
		fmt.Fprintf(&rules, "rule \"r%d\" {\n min_nics = 1\n}\n", i)
	}
	for name, texts := range map[string][]string{"files": many, "rules": {base, rules.String()}, "size": {base, strings.Repeat("#", 10<<20)}} {
		p, findings := policy.Load(sources(texts...), env)
		if p != nil || len(findings) == 0 || len(findings) > 3 {
			t.Errorf("%s: policy %v, %s", name, p != nil, text(findings))
		}
	}
}

// A file within all bounds, made to cost as much as one can, is still cheap.
func TestMemoryIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString(base)
	when := "1" + strings.Repeat("+1", 900) + ">1 && " + strings.Repeat("!(job.request.off && ", 20) + "true" + strings.Repeat(")", 20)
	for i := 0; b.Len() < 200_000; i++ {
		fmt.Fprintf(&b, "rule \"r%d\" {\n  when = %s\n  min_nics = 1\n}\n", i, when)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p, findings := policy.Load(sources(b.String()), env)
	runtime.ReadMemStats(&after)
	if p == nil {
		t.Fatal(text(findings))
	}
	if spent := after.TotalAlloc - before.TotalAlloc; spent > 1<<30 {
		t.Errorf("%d MiB were allocated in all", spent>>20)
	}
}
