package policy_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/policy"
)

var update = flag.Bool("update", false, "write the golden files anew")

var env = policy.Env{Pools: []string{"jobs"}, Services: []string{"daos"}, Schedulers: []string{"tioga", "slurm"}, Nodes: "n[1-8]"}

// base is the least that a policy must have.
const base = `traffic_classes = ["BEST_EFFORT", "LOW_LATENCY"]
limits = "small"
vnis = ["app"]
limits "small" {
  txqs = { reserved = 2 * share.cores, max = 100 }
  les  = { reserved = 16, max = 64 }
}
vni "app" { pool = "jobs" }
vni "job" { pool = "jobs" }
vni "daos" { service = "daos" }
`

// tester is what testing.TB and rapid.T have in common.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

func load(t tester, texts ...string) *policy.Policy {
	t.Helper()
	p, findings := policy.Load(sources(texts...), env)
	if hclfile.Failed(findings) {
		t.Fatalf("findings: %v", text(findings))
	}
	return p
}

func sources(texts ...string) []hclfile.Source {
	var out []hclfile.Source
	for i, s := range texts {
		out = append(out, hclfile.Source{Name: fmt.Sprintf("etc/%c.policy.hcl", 'a'+i), Text: []byte(s)})
	}
	return out
}

func text(findings []hclfile.Finding) string {
	var b bytes.Buffer
	if err := hclfile.Text(&b, findings, false); err != nil {
		return err.Error()
	}
	return b.String()
}

// facts are those of a job on two nodes with four cores each, changed by change.
func facts(change func(*core.Job)) engine.Facts {
	job := core.Job{
		Run:  core.Run{Key: core.Key{JobID: core.JobID{Scheduler: "tioga", Job: "7"}}, Fingerprint: core.Fingerprint{UID: 1000, Submitted: 1}},
		User: "ann", Groups: []string{"phys", "users"}, Account: "acc", Queue: "batch",
		Placements: []core.Placement{{Hosts: "n[1-2]", Nodes: 2, Cores: 4}},
	}
	if change != nil {
		change(&job)
	}
	return engine.Facts{Job: job, System: engine.System{Nodes: 8}}
}

func limits(set map[core.Resource]core.Limit) core.Limits {
	var l core.Limits
	for r, limit := range set {
		l[r] = limit
	}
	return l
}

var app = engine.Wanted{Name: "app", Pool: "jobs"}

func TestDefaultPolicy(t *testing.T) {
	files, _, findings := policy.Gather([]string{"."})
	if findings != nil || len(files) != 1 {
		t.Fatalf("%d files, %+v", len(files), findings)
	}
	p, findings := policy.Load(files, policy.Env{Pools: []string{"jobs"}, Schedulers: []string{"local"}, Nodes: "n[1-4]"})
	if findings != nil {
		t.Fatal(text(findings))
	}
	of := func(cores uint16, tle core.Limit) core.Limits {
		return limits(map[core.Resource]core.Limit{
			core.TXQ: {Reserved: 2 * cores, Max: 1024}, core.TGQ: {Reserved: cores, Max: 512}, core.EQ: {Reserved: 2 * cores, Max: 2047},
			core.CT: {Reserved: cores, Max: 2047}, core.PTE: {Reserved: 6 * cores, Max: 2048}, core.LE: {Reserved: 16 * cores, Max: 16384},
			core.AC: {Reserved: 2 * cores, Max: 1022}, core.TLE: tle,
		})
	}
	wide := core.BestEffort | core.LowLatency
	floor := [core.NumResources]uint16{core.PTE: 6, core.TXQ: 2, core.TGQ: 1, core.EQ: 2, core.AC: 2}
	for name, c := range map[string]struct {
		change func(*core.Job)
		nodes  int
		want   engine.Decision
	}{
		"plain": {nil, 4, engine.Decision{VNIs: []engine.Wanted{app}, Classes: wide, Limits: []core.Limits{of(4, core.Limit{})}}},
		"shares": {func(j *core.Job) {
			j.Placements = append(j.Placements, core.Placement{Hosts: "n3", Nodes: 1, Cores: 64})
		}, 4,
			engine.Decision{VNIs: []engine.Wanted{app}, Classes: wide, Limits: []core.Limits{of(4, core.Limit{}), of(64, core.Limit{})}}},
		"off": {func(j *core.Job) { j.Request.Off = true }, 4, engine.Decision{Rules: []string{"no network wanted"}}},
		"job VNI": {func(j *core.Job) { j.Request.JobVNI = true }, 4, engine.Decision{VNIs: []engine.Wanted{app, {Name: "job", Pool: "jobs"}}, Classes: wide,
			Limits: []core.Limits{of(4, core.Limit{})}, Rules: []string{"a VNI for the whole job"}}},
		"large": {func(j *core.Job) { j.Placements = []core.Placement{{Hosts: "n[1-64]", Nodes: 64, Cores: 8}} }, 11136,
			engine.Decision{VNIs: []engine.Wanted{app}, Classes: wide, Limits: []core.Limits{of(8, core.Limit{})}}},
		"dedicated": {func(j *core.Job) { j.Request.Classes = core.DedicatedAccess; j.Groups = []string{"ops"} }, 4,
			engine.Decision{VNIs: []engine.Wanted{app}, Classes: core.DedicatedAccess, Limits: []core.Limits{of(4, core.Limit{})},
				Rules: []string{"operations may have dedicated access"}}},
	} {
		t.Run(name, func(t *testing.T) {
			f := facts(c.change)
			f.System.Nodes = c.nodes
			got := p.Decide(f)
			c.want.Policy = p.Hash()
			if len(c.want.VNIs) > 0 {
				c.want.Floor = floor
			}
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(core.Error{})); diff != "" {
				t.Error(diff)
			}
		})
	}
	got := p.Decide(facts(func(j *core.Job) { j.Request.Classes = core.DedicatedAccess }))
	want := `policy: deny "dedicated access is for operations": DEDICATED_ACCESS needs membership of group ops`
	if got.Deny == nil || got.Deny.What != want || got.Deny.Reason != core.PolicyDenied || got.VNIs != nil || got.Limits != nil {
		t.Errorf("%+v", got)
	}
	if raw, err := hex.DecodeString(p.Hash()); err != nil || len(raw) != 32 {
		t.Errorf("hash %q", p.Hash())
	}
}

func u16(n uint16) *uint16 { return &n }

func TestRequests(t *testing.T) {
	p := load(t, base, `
rule "three" {
  match { queues = ["three"] }
  vnis  = ["app", "job", "daos"]
}
rule "none" {
  match { queues = ["none"] }
  vnis  = []
}
`)
	limit := func(r core.Resource, l core.LimitRequest) func(*core.Job) {
		return func(j *core.Job) { j.Request.Limits[r] = l }
	}
	queue := func(q string, r core.Request) func(*core.Job) {
		return func(j *core.Job) { j.Queue, j.Request = q, r }
	}
	three := []engine.Wanted{app, {Name: "job", Pool: "jobs"}, {Name: "daos", Pool: "daos"}}
	for name, c := range map[string]struct {
		change func(*core.Job)
		deny   core.Reason
		what   string // part of the message
		vnis   []engine.Wanted
		txqs   core.Limit
	}{
		"nothing":                   {nil, "", "", []engine.Wanted{app}, core.Limit{Reserved: 8, Max: 100}},
		"depth":                     {func(j *core.Job) { j.Request.Depth = 10 }, "", "", []engine.Wanted{app}, core.Limit{Reserved: 20, Max: 100}},
		"depth above max":           {func(j *core.Job) { j.Request.Depth = 1000 }, "", "", []engine.Wanted{app}, core.Limit{Reserved: 100, Max: 100}},
		"depth too deep":            {func(j *core.Job) { j.Request.Depth = 1025 }, core.BadRequest, "depth: 1025", nil, core.Limit{}},
		"depth below 0":             {func(j *core.Job) { j.Request.Depth = -1 }, core.BadRequest, "depth: -1", nil, core.Limit{}},
		"reserve up to max":         {limit(core.TXQ, core.LimitRequest{Reserved: u16(100)}), "", "", []engine.Wanted{app}, core.Limit{Reserved: 100, Max: 100}},
		"reserve above max":         {limit(core.TXQ, core.LimitRequest{Reserved: u16(101)}), core.PolicyDenied, "txqs: a reservation of 101", nil, core.Limit{}},
		"reserve of nothing":        {limit(core.TLE, core.LimitRequest{Reserved: u16(1)}), core.PolicyDenied, "tles: a reservation of 1", nil, core.Limit{}},
		"max":                       {limit(core.TXQ, core.LimitRequest{Max: u16(5)}), "", "", []engine.Wanted{app}, core.Limit{Reserved: 5, Max: 5}},
		"max above max":             {limit(core.TXQ, core.LimitRequest{Max: u16(65535)}), core.PolicyDenied, "txqs: a maximum of 65535", nil, core.Limit{}},
		"reserve above own":         {limit(core.TXQ, core.LimitRequest{Reserved: u16(9), Max: u16(8)}), core.BadRequest, "txqs: 9", nil, core.Limit{}},
		"per core":                  {limit(core.TXQ, core.LimitRequest{PerCore: u16(25)}), "", "", []engine.Wanted{app}, core.Limit{Reserved: 100, Max: 100}},
		"per core too many":         {limit(core.TXQ, core.LimitRequest{PerCore: u16(26)}), core.PolicyDenied, "txqs: a reservation of 104", nil, core.Limit{}},
		"per core and max":          {limit(core.TXQ, core.LimitRequest{PerCore: u16(26), Max: u16(50)}), "", "", []engine.Wanted{app}, core.Limit{Reserved: 50, Max: 50}},
		"reserve overrides":         {limit(core.TXQ, core.LimitRequest{PerCore: u16(26), Reserved: u16(1)}), "", "", []engine.Wanted{app}, core.Limit{Reserved: 1, Max: 100}},
		"class":                     {func(j *core.Job) { j.Request.Classes = core.LowLatency }, "", "", []engine.Wanted{app}, core.Limit{Reserved: 8, Max: 100}},
		"class not granted":         {func(j *core.Job) { j.Request.Classes = core.LowLatency | core.BulkData }, core.PolicyDenied, "traffic classes: BULK_DATA", nil, core.Limit{}},
		"class unheard of":          {func(j *core.Job) { j.Request.Classes = 0x80 }, core.BadRequest, "traffic classes: 0x80", nil, core.Limit{}},
		"one VNI":                   {func(j *core.Job) { j.Request.VNIs = 1 }, "", "", []engine.Wanted{app}, core.Limit{Reserved: 8, Max: 100}},
		"two VNIs":                  {func(j *core.Job) { j.Request.VNIs = 2 }, core.PolicyDenied, "VNIs: 2 were asked for", nil, core.Limit{}},
		"job VNI":                   {func(j *core.Job) { j.Request.JobVNI = true }, core.PolicyDenied, "VNIs: one for the whole job", nil, core.Limit{}},
		"five VNIs":                 {func(j *core.Job) { j.Request.VNIs = 5 }, core.BadRequest, "VNIs: 5", nil, core.Limit{}},
		"service keeps its index":   {queue("three", core.Request{VNIs: 1}), "", "", three, core.Limit{Reserved: 8, Max: 100}},
		"a service's is not own":    {queue("three", core.Request{VNIs: 3}), core.PolicyDenied, "gives this job 2", nil, core.Limit{}},
		"off without a rule for it": {queue("x", core.Request{Off: true}), "", "", []engine.Wanted{app}, core.Limit{Reserved: 8, Max: 100}},
		"none":                      {queue("none", core.Request{}), "", "", nil, core.Limit{}},
		"one of none":               {queue("none", core.Request{SingleNode: true}), core.PolicyDenied, "no network", nil, core.Limit{}},
		"off and one of none":       {queue("none", core.Request{SingleNode: true, Off: true}), "", "", nil, core.Limit{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := p.Decide(facts(c.change))
			if c.deny != "" {
				if got.Deny == nil || got.Deny.Reason != c.deny || !strings.Contains(got.Deny.What, c.what) {
					t.Fatalf("deny %+v", got.Deny)
				}
				return
			}
			if got.Deny != nil {
				t.Fatalf("denied: %v", got.Deny)
			}
			if diff := cmp.Diff(c.vnis, got.VNIs, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			if c.vnis != nil && got.Limits[0][core.TXQ] != c.txqs {
				t.Errorf("txqs %+v, want %+v", got.Limits[0][core.TXQ], c.txqs)
			}
		})
	}
}

func TestMatchAndOrder(t *testing.T) {
	p := load(t, base+`
rule "user" {
  match { users = ["ann", "bob"] }
  traffic_classes = ["BULK_DATA"]
}
rule "user and queue" {
  match {
    users  = ["ann"]
    queues = ["io"]
  }
  min_nics = 2
}
rule "groups" {
  match { groups = ["a", "b"] }
  min_nics = 3
}
rule "nodes" {
  match { nodes = "n[1-4]" }
  min_nics = 4
}
rule "scheduler" {
  match { schedulers = ["slurm"] }
  when     = job.nodes > 1
  min_nics = "all"
}
deny "login" {
  match { nodes = "n8" }
  message = "no jobs on ${system.nodes} for ${job.user}"
}
`, `rule "late" {
  match { accounts = ["late"] }
  traffic_classes = ["LOW_LATENCY"]
}
`)
	for name, c := range map[string]struct {
		change func(*core.Job)
		rules  []string
		nics   int
		deny   string
	}{
		"user":        {func(j *core.Job) { j.Placements[0].Hosts = "n[4-5]" }, []string{"user"}, 0, ""},
		"other":       {func(j *core.Job) { j.User = "eve"; j.Placements[0].Hosts = "n5" }, nil, 0, ""},
		"queue":       {func(j *core.Job) { j.Queue = "io"; j.Placements[0].Hosts = "n5" }, []string{"user", "user and queue"}, 2, ""},
		"queue alone": {func(j *core.Job) { j.Queue = "io"; j.User = "eve"; j.Placements[0].Hosts = "n5" }, nil, 0, ""},
		"groups":      {func(j *core.Job) { j.Groups = []string{"x", "b", "a"}; j.Placements[0].Hosts = "n5" }, []string{"user", "groups"}, 3, ""},
		"nodes":       {nil, []string{"user", "nodes"}, 4, ""},
		"scheduler":   {func(j *core.Job) { j.Scheduler = "slurm" }, []string{"user", "nodes", "scheduler"}, 0, ""},
		"late":        {func(j *core.Job) { j.Account = "late" }, []string{"user", "nodes", "late"}, 4, ""},
		"deny":        {func(j *core.Job) { j.Placements[0].Hosts = "n[7-8]" }, []string{"user", "login"}, 0, "policy: deny \"login\": no jobs on 8 for ann"},
		"unreadable":  {func(j *core.Job) { j.Placements[0].Hosts = "n[" }, []string{"user"}, 0, "policy: rule \"nodes\" (a.policy.hcl:"},
		"no hosts":    {func(j *core.Job) { j.Placements[0].Hosts = "" }, []string{"user"}, 0, "policy: deny \"login\" (a.policy.hcl:"},
	} {
		t.Run(name, func(t *testing.T) {
			got := p.Decide(facts(c.change))
			if diff := cmp.Diff(c.rules, got.Rules, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			if c.deny == "" && (got.Deny != nil || got.MinNICs != c.nics) {
				t.Errorf("min_nics %d, want %d; %v", got.MinNICs, c.nics, got.Deny)
			}
			if c.deny != "" && (got.Deny == nil || !strings.HasPrefix(got.Deny.What, c.deny)) {
				t.Errorf("deny %v, want %s", got.Deny, c.deny)
			}
		})
	}
}

// What goes wrong while deciding denies, names the rule and its line, and is the administrators' to mend.
func TestFaultsDeny(t *testing.T) {
	for name, rule := range map[string]string{
		"division":   `rule "bad" {` + "\n" + ` when = 10 / (job.nodes - 2) > 1` + "\n min_nics = 1\n}",
		"logarithm":  `rule "bad" {` + "\n" + ` when = log(job.nodes - 2, 10) > 1` + "\n min_nics = 1\n}",
		"base":       `rule "bad" {` + "\n" + ` when = log(2, job.nodes - 1) < 1` + "\n min_nics = 1\n}",
		"index":      `rule "bad" {` + "\n" + ` when = job.groups[9] == "x"` + "\n min_nics = 1\n}",
		"function":   `rule "bad" {` + "\n" + ` when = multicast_share(4086, 8, job.nodes - 2, 1) > 1` + "\n min_nics = 1\n}",
		"deny":       `deny "bad" {` + "\n" + ` when = job.groups[9] == "x"` + "\n message = \"no\"\n}",
		"message":    `deny "bad" {` + "\n message = job.groups[9]\n}",
		"late fault": `rule "ok" { min_nics = 2 }` + "\n" + `rule "bad" {` + "\n" + ` when = job.groups[job.nodes + 5] == "x"` + "\n min_nics = 1\n}",
	} {
		t.Run(name, func(t *testing.T) {
			got := load(t, base, rule).Decide(facts(nil))
			d := got.Deny
			if d == nil || d.Reason != core.PolicyFault || !strings.Contains(d.What, `"bad" (b.policy.hcl:`) || !strings.Contains(d.Remedy, "b.policy.hcl:") {
				t.Fatalf("deny %+v", d)
			}
			if got.VNIs != nil || got.Limits != nil || got.Classes != 0 {
				t.Errorf("a deny grants: %+v", got)
			}
		})
	}
	for name, c := range map[string]struct{ text, what string }{
		"limit too large": {strings.Replace(base, "2 * share.cores", "20000 * share.cores", 1), `limits "small" (a.policy.hcl:5): txqs.reserved: 80000 is not a whole number`},
		"limit below 0":   {strings.Replace(base, "2 * share.cores", "2 - share.cores", 1), `txqs.reserved: -2 is not`},
		"limit fraction":  {strings.Replace(base, "2 * share.cores", "share.cores / 3", 1), `txqs.reserved: 1.333333333 is not`},
		"max too large":   {strings.Replace(base, "max = 100", "max = 100000 * share.cores", 1), `txqs.max: 400000 is not`},
		"floor":           {base + "floor = { txqs = 3 - 2 * job.nodes }\n", `floor (a.policy.hcl:11): txqs: -1 is not`},
		"collectives":     {base + "rule \"c\" {\n collectives = { addresses = job.nodes / 4 }\n}\n", `collectives (a.policy.hcl:12): addresses: 0.5 is not`},
	} {
		t.Run(name, func(t *testing.T) {
			d := load(t, c.text).Decide(facts(nil)).Deny
			if d == nil || d.Reason != core.PolicyFault || !strings.Contains(d.What, c.what) {
				t.Errorf("deny %v", d)
			}
		})
	}
}

func TestFloorCollectivesAndWarnings(t *testing.T) {
	p := load(t, base+`
floor      = { txqs = 3, les = 2 * job.nodes }
min_nics   = 2
on_failure = "degrade"
rule "c" {
  when        = job.request.collectives
  collectives = { addresses = min(8, system.nodes) }
}
`)
	got := p.Decide(facts(func(j *core.Job) { j.Request.Collectives, j.Request.Warnings = true, []string{"from the adapter"} }))
	if got.Collectives != 8 || got.Floor[core.TXQ] != 3 || got.Floor[core.LE] != 4 || got.MinNICs != 2 || !got.Degrade || !p.Degrade() {
		t.Errorf("%+v", got)
	}
	want := []string{"from the adapter", "hardware collectives were asked for; no fabric backend is configured that makes them"}
	if diff := cmp.Diff(want, got.Warnings); diff != "" {
		t.Error(diff)
	}
	got = load(t, base).Decide(facts(func(j *core.Job) { j.Request.Collectives, j.Request.Off = true, true }))
	if len(got.Warnings) != 2 {
		t.Errorf("warnings %q", got.Warnings)
	}
}

func TestTextIsLoadedAgain(t *testing.T) {
	p := load(t, base, "# "+strings.Repeat("x\n# ", 3), "rule \"x\" { min_nics = 1 }\n")
	files, err := policy.Split(p.Text())
	if err != nil {
		t.Fatal(err)
	}
	again, findings := policy.Load(files, env)
	if again == nil || again.Hash() != p.Hash() || again.Text() != p.Text() {
		t.Errorf("%v", text(findings))
	}
	for _, bad := range []string{"x", p.Text()[:len(p.Text())-1], strings.Replace(p.Text(), " ", "  ", 1), "#! policy file -1 \"a\"\n\n"} {
		if _, err := policy.Split(bad); err == nil {
			t.Errorf("Split(%.20q) gives no error", bad)
		}
	}
	if load(t, base+" ").Hash() == load(t, base).Hash() {
		t.Error("two texts have one hash")
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.policy.hcl", "a.policy.hcl", "a_test.policy.hcl", ".c.policy.hcl", "notes.hcl"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("# "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, _, findings := policy.Gather([]string{dir})
	var names []string
	for _, f := range files {
		names = append(names, filepath.Base(f.Name))
	}
	if diff := cmp.Diff([]string{"a.policy.hcl", "b.policy.hcl"}, names); diff != "" || findings != nil {
		t.Error(diff, findings)
	}
	for _, bad := range []string{t.TempDir(), filepath.Join(dir, "none")} {
		if _, _, findings := policy.Gather([]string{bad}); len(findings) != 1 {
			t.Errorf("%s: %+v", bad, findings)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "d.policy.hcl"), 0o700), os.WriteFile(filepath.Join(dir, "e.policy.hcl"), make([]byte, 2<<20), 0o600)); err != nil {
		t.Fatal(err)
	}
	if files, _, findings := policy.Gather([]string{dir}); len(files) != 2 || len(findings) != 2 {
		t.Errorf("%d files, %s", len(files), text(findings))
	}
}
