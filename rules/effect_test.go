package rules

import (
	"go/ast"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/policy"
)

// effects names the product code that acts on each field of a request, a decision and a grant, and on each key of
// config.hcl and of the policy language. An entry is a folder and a function or RECEIVER.METHOD of it. The function
// mentions the field, or the third word. It never only loads the key. "none: " begins what has no effect yet.
var effects = map[string]string{
	"Request.Off":           "policy evaluation.grant",
	"Request.VNIs":          "policy wanted",
	"Request.JobVNI":        "policy wanted",
	"Request.SingleNode":    "policy evaluation.nothing",
	"Request.Classes":       "policy evaluation.grant",
	"Request.Depth":         "policy evaluation.share",
	"Request.Collectives":   "policy evaluation.grant",
	"Request.Exact":         "core/engine Machine.grant",
	"Request.Limits":        "policy evaluation.share",
	"Request.Warnings":      "policy evaluation.decide",
	"LimitRequest.PerCore":  "policy fitted",
	"LimitRequest.Reserved": "policy fitted",
	"LimitRequest.Max":      "policy fitted",

	"Decision.Deny":        "core/engine Machine.make",
	"Decision.VNIs":        "core/engine Machine.make",
	"Decision.Classes":     "core/engine Machine.grant",
	"Decision.Limits":      "core/engine reservation.limits",
	"Decision.Floor":       "core/engine Machine.grant",
	"Decision.Greedy":      "core/engine Machine.grant",
	"Decision.MinNICs":     "core/engine Machine.grant",
	"Decision.Collectives": "core/engine amount", // for quotas alone: no fabric backend makes them
	"Decision.Degrade":     "core/engine Machine.make",
	"Decision.Steps":       "core/engine reservation.drawable",
	"Decision.Beyond":      "core/engine Machine.draw",
	"Decision.Quotas":      "core/engine Machine.admitQuotas",
	"Decision.Warnings":    "core/engine Machine.grant",
	"Decision.Trials":      "core/engine Machine.make",
	"Decision.Rules":       "server jobDetail",
	"Decision.Policy":      "core/engine Machine.make",
	"Decision.Now":         "server Verbs.explain",

	"Grant.Run":        "core/node Machine.create",
	"Grant.GID":        "core/node Machine.publish",
	"Grant.VNIs":       "core/node Machine.fit",
	"Grant.Classes":    "core/node Machine.fit",
	"Grant.Asked":      "core/node holding.carried",
	"Grant.Exact":      "core/node holding.whole",
	"Grant.Steps":      "core/node Machine.answerOne",
	"Grant.Request":    "core/node narrow",
	"Grant.Drawn":      "core/node Machine.reservedStep",
	"Grant.Limits":     "core/node Machine.fit",
	"Grant.Floor":      "core/node Machine.fit",
	"Grant.Share":      "core/node Machine.fit",
	"Grant.MinNICs":    "core/node Machine.usable",
	"Grant.Inventory":  "core/node Machine.usable",
	"Grant.Collective": "core/node Network",
	"Grant.Warnings":   "core/node holding.allWarnings",
	"Grant.Head":       "core/node Machine.checkGrant",

	"config nodes":                       "daemon/settings Read Nodes",
	"config policy":                      "daemon/settings Read Policy",
	"config pool":                        "daemon/settings Read Pools",
	"config pool.vnis":                   "daemon/settings Site.Allocator Pools",
	"config pool.quarantine":             "daemon/settings Read Quarantines",
	"config service":                     "daemon/settings Env Services",
	"config service.vnis":                "daemon/settings Site.Allocator Pools",
	"config service.quarantine":          "daemon/settings Read Quarantines",
	"config service.servers":             "daemon/settings Read Servers",
	"config unknown_vnis":                "daemon/settings Read UnknownVNIs",
	"config topology":                    "daemon/settings topology Groups",
	"config topology.group":              "daemon/settings topology Groups",
	"config topology.group.nodes":        "daemon/settings topology Nodes",
	"config topology.groups":             "daemon/settings topology Groups", // the loader makes groups of these three
	"config topology.switches_per_group": "daemon/settings topology Groups",
	"config topology.nodes_per_switch":   "daemon/settings topology Groups",
	"config topology.nics_per_node":      "daemon/settings Examined NICsPerNode",
	"config scheduler":                   "daemon/adapters NewServer Schedulers",
	"config scheduler.in_process":        "daemon/plugin Blocks.Spec InProcess",
	"config scheduler.command":           "daemon/plugin Blocks.Spec Command",
	"config scheduler.sha256":            "daemon/plugin Blocks.Spec SHA256",
	"config scheduler.auto_mtls":         "daemon/plugin Blocks.Spec AutoMTLS",
	"config scheduler.memory":            "daemon/plugin Blocks.bounds Memory",
	"config scheduler.processes":         "daemon/plugin Blocks.bounds Processes",
	"config scheduler.at":                "daemon/adapters NewNode At",
	"config scheduler.alias":             "daemon/plugin AliasesOf Names",
	"config scheduler.mode":              "daemon/settings observed Observe",
	"config scheduler.enforce":           "daemon/settings observed Enforce",
	"config driver":                      "daemon/plugin StartDriver Drivers",
	"config driver.in_process":           "daemon/plugin Blocks.Spec InProcess",
	"config driver.command":              "daemon/plugin Blocks.Spec Command",
	"config driver.sha256":               "daemon/plugin Blocks.Spec SHA256",
	"config driver.auto_mtls":            "daemon/plugin Blocks.Spec AutoMTLS",
	"config driver.memory":               "daemon/plugin Blocks.bounds Memory",
	"config driver.processes":            "daemon/plugin Blocks.bounds Processes",
	"config server":                      "daemon Server Server",
	"config server.name":                 "daemon serverDaemon.openElection Name",
	"config server.etcd":                 "daemon serverDaemon.openElection Etcd",
	"config server.listen":               "daemon/connection Listen Listen",
	"config server.socket":               "daemon serverDaemon.start Socket",
	"config server.store":                "daemon serverDaemon.openRecords Store",
	"config server.witness":              "daemon serverDaemon.openRecords Witness",
	"config server.unwitnessed":          "daemon serverDaemon.makeServer Unwitnessed",
	"config server.admin_group":          "daemon serverDaemon.verbs AdminGroup",
	"config server.tls":                  "daemon/connection Listen TLS",
	"config server.metrics":              "daemon serverDaemon.start Metrics",
	"config server.audit":                "daemon Server Audit",
	"config server.history":              "daemon serverDaemon.openRecords History",
	"config agent":                       "daemon Agent Agent",
	"config agent.server":                "daemon agentDaemon.accept Servers",
	"config agent.servers":               "daemon agentDaemon.accept Servers",
	"config agent.dir":                   "daemon agentDaemon.openNode Dir",
	"config agent.tls":                   "daemon agentDaemon.openNode TLS",
	"config agent.metrics":               "daemon agentDaemon.start Metrics",
	"config agent.audit":                 "daemon Agent Audit",

	"policy traffic_classes":      "policy evaluation.grant classes",
	"policy limits":               "policy evaluation.share limits",
	"policy vnis":                 "policy evaluation.grant vnis",
	"policy share":                "policy evaluation.grant share",
	"policy min_nics":             "policy evaluation.grant minNICs",
	"policy floor":                "policy evaluation.grant floor",
	"policy on_failure":           "policy evaluation.grant degrade",
	"policy vni":                  "policy wanted Wanted",
	"policy vni.pool":             "core/engine Machine.take Pool",
	"policy vni.service":          "policy wanted service",
	"policy vni.count":            "policy evaluation.grant count",
	"policy vni.beyond":           "policy evaluation.grant beyond",
	"policy limits.RESOURCE":      "policy limits.evaluate resources",
	"policy rule":                 "policy evaluation.apply settings",
	"policy rule.when":            "policy evaluation.hit when",
	"policy rule.match":           "policy evaluation.hit match",
	"policy rule.traffic_classes": "policy settings.take classes",
	"policy rule.limits":          "policy settings.take limits",
	"policy rule.vnis":            "policy settings.take vnis",
	"policy rule.share":           "policy settings.take share",
	"policy rule.min_nics":        "policy settings.take minNICs",
	"policy rule.floor":           "policy settings.take floor",
	"policy rule.collectives":     "policy evaluation.grant collectives",
	"policy match.users":          "policy jobNames users",
	"policy match.groups":         "policy jobNames groups",
	"policy match.accounts":       "policy jobNames accounts",
	"policy match.queues":         "policy jobNames queues",
	"policy match.schedulers":     "policy jobNames schedulers",
	"policy match.nodes":          "policy evaluation.hit nodes",
	"policy deny":                 "policy evaluation.apply denyKind",
	"policy deny.when":            "policy evaluation.hit when",
	"policy deny.match":           "policy evaluation.hit match",
	"policy deny.message":         "policy evaluation.apply message",
	"policy deny.enforce":         "policy evaluation.refuse enforce",
	"policy quota":                "policy evaluation.apply quotaKind",
	"policy quota.when":           "policy evaluation.hit when",
	"policy quota.match":          "policy evaluation.hit match",
	"policy quota.per":            "policy evaluation.bound per",
	"policy quota.vnis":           "policy evaluation.bound most",
	"policy quota.addresses":      "policy evaluation.bound most",
	"policy quota.enforce":        "policy evaluation.bound enforce",
	"policy quota.on_full":        "policy evaluation.bound ends",
}

// Product code acts on every field and every key, or effects says that none does.
func TestEverythingHasAnEffect(t *testing.T) {
	here, err := load(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []string{"policy grant", "nowhere evaluation.grant", "policy evaluation.hit"} {
		if here.mentions(wrong, "Off") == "" {
			t.Errorf("%s passes as what acts on Request.Off", wrong)
		}
	}
	names := slices.Concat(fieldsOf[core.Request](), fieldsOf[core.LimitRequest](), fieldsOf[engine.Decision](),
		fieldsOf[core.Grant](), configKeys(t), policyKeys(t))
	for _, name := range names {
		effect, ok := effects[name]
		if _, none := strings.CutPrefix(effect, "none: "); !ok {
			t.Errorf("%s: effects does not say what acts on it", name)
		} else if none {
			continue
		} else if wrong := here.mentions(effect, name[strings.LastIndexAny(name, ". ")+1:]); wrong != "" {
			t.Errorf("%s: %q: %s", name, effect, wrong)
		}
	}
	for name := range effects {
		if !slices.Contains(names, name) {
			t.Errorf("effects names %s, which is no field and no key", name)
		}
	}
}

// mentions says why an effect is wrong. Its function must mention the third word, or field where there is none.
func (t *tree) mentions(effect, field string) (wrong string) {
	words := append(strings.Fields(effect), field)
	wrong = "there is no such function"
	for _, f := range t.files {
		if f.pkg != words[0] || f.test {
			continue
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || title(fn) != words[1] {
				continue
			}
			wrong = "the function does not mention " + words[2]
			found := false
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				found = found || ok && id.Name == words[2]
				return !found
			})
			if found {
				return ""
			}
		}
	}
	return wrong
}

// title is a function's name, behind its receiver's type if it has one.
func title(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	typ := fn.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if id, ok := typ.(*ast.Ident); ok {
		return id.Name + "." + fn.Name.Name
	}
	return fn.Name.Name
}

func fieldsOf[T any]() []string {
	var out []string
	for typ, i := reflect.TypeFor[T](), 0; i < typ.NumField(); i++ {
		out = append(out, typ.Name()+"."+typ.Field(i).Name)
	}
	return out
}

// probe is no key of any block: the loader names those that there are.
const probe = "qqqqqqqq = 1\n"

// known are the keys of a block, as the finding about the probe in it names them.
func known(t *testing.T, block string, findings []hclfile.Finding) []string {
	t.Helper()
	for _, f := range findings {
		list, ok := strings.CutPrefix(f.Detail, "There are: ")
		if !ok || !strings.Contains(f.Summary, "qqqqqqqq") {
			continue
		}
		keys := strings.Split(strings.TrimSuffix(list, "."), ", ")
		for i := range keys {
			keys[i] = block + keys[i]
		}
		return keys
	}
	t.Fatalf("%q: no finding names the keys there: %+v", block, findings)
	return nil
}

func configKeys(t *testing.T) (keys []string) {
	blocks := map[string]string{
		"": probe, "pool.": "pool \"a\" {\n" + probe + "}\n", "service.": "service \"a\" {\n" + probe + "}\n",
		"topology.": "topology {\n" + probe + "}\n", "topology.group.": "topology {\n group \"g\" {\n" + probe + "}\n}\n",
		"server.": "server {\n" + probe + "}\n", "agent.": "agent {\n" + probe + "}\n",
		"scheduler.": "scheduler \"slurm\" \"a\" {\n" + probe + "}\n", "driver.": "driver \"cxi\" {\n" + probe + "}\n",
	}
	for block, text := range blocks {
		c, findings := config.Parse(hclfile.Source{Name: "config.hcl", Text: []byte(text)})
		if c == nil {
			t.Fatalf("%s: %+v", text, findings)
		}
		for _, p := range slices.Concat(c.Schedulers, c.Drivers) {
			_, more := p.Decode(core.Schema{})
			findings = append(findings, more...)
		}
		keys = append(keys, known(t, "config "+block, findings)...)
	}
	return keys
}

func policyKeys(t *testing.T) []string {
	blocks := map[string]string{"": probe, "match.": "rule \"a\" {\n match {\n" + probe + "}\n}\n"}
	for _, block := range []string{"limits", "vni", "rule", "deny", "quota"} {
		blocks[block+"."] = block + " \"a\" {\n" + probe + "}\n"
	}
	keys := map[string]bool{}
	for block, text := range blocks {
		_, findings := policy.Load([]hclfile.Source{{Name: "a.policy.hcl", Text: []byte(text)}}, policy.Env{})
		for _, key := range known(t, "policy "+block, findings) {
			if of, name, _ := strings.Cut(key, "limits."); slices.Contains(core.ResourceNames(), name) {
				key = of + "limits.RESOURCE"
			}
			keys[key] = true
		}
	}
	return slices.Collect(maps.Keys(keys))
}
