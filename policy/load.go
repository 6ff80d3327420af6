package policy

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/hostlist"
	"github.com/weft-hpc/weft/hclfile"
)

// Env is what config.hcl declares and policy may name.
type Env struct {
	Pools      []string
	Services   []string
	Schedulers []string // names of instances; nil: not checked
	Nodes      string   // hostlist; empty: not checked
	Topology   *engine.Topology

	stored bool // it was in force once: what config.hcl declared then is not known
}

// Bounds of a policy.
const (
	MaxFiles = 64
	MaxRules = 4096 // rules, denies and quotas
)

// Load compiles a policy. Its files are read in the order of their names without folder. The Policy is nil when hclfile.Failed.
func Load(files []hclfile.Source, env Env) (*Policy, []hclfile.Finding) {
	c := compiler{env: env, policy: &Policy{}, limits: map[string]*limits{}, vnis: map[string]*vni{}, seen: map[string]place{}}
	if len(files) > MaxFiles {
		return nil, []hclfile.Finding{{Severity: hclfile.Error, Summary: fmt.Sprintf("the policy has %d files, more than the %d that it may have", len(files), MaxFiles)}}
	}
	if list, err := hostlist.Parse(env.Nodes); err == nil && list.Count() > 0 && list.Count() <= maxHosts {
		c.system = nodes{}
		for node := range list.Expand() {
			c.system[node] = struct{}{}
		}
	}
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b hclfile.Source) int {
		return cmp.Or(cmp.Compare(filepath.Base(a.Name), filepath.Base(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	parsed := make([]*hclfile.File, 0, len(files))
	for _, source := range files {
		file, findings := hclfile.Parse(source)
		c.add(findings...)
		if !file.Whole {
			c.syntax = true // what else would be found in this one may follow from it
			continue
		}
		parsed = append(parsed, file)
	}
	// Blocks that others name come first, whichever file they are in.
	for _, file := range parsed {
		c.add(file.Check(file.Body, top)...)
		c.each(file, "limits", c.compileLimits)
		c.each(file, "vni", c.compileVNI)
	}
	for _, file := range parsed {
		c.defaults(file)
		c.rules(file)
	}
	if !c.syntax {
		c.required(files)
	}
	c.policy.index()
	if !hclfile.Failed(c.findings) {
		c.idle()
		c.policy.classes = c.given()
	}
	c.policy.seal(files)
	findings := hclfile.Sort(c.findings)
	if hclfile.Failed(findings) {
		return nil, findings
	}
	return c.policy, findings
}

var top = hclfile.Shape{
	Attributes: []string{"traffic_classes", "limits", "vnis", "share", "min_nics", "floor", "on_failure"},
	Blocks: map[string]hclfile.BlockShape{
		"limits": {Labels: []string{"NAME"}},
		"vni":    {Labels: []string{"NAME"}},
		"rule":   {Labels: []string{"NAME"}},
		"deny":   {Labels: []string{"NAME"}},
		"quota":  {Labels: []string{"NAME"}},
	},
}

// compiler holds what is needed while loading only.
type compiler struct {
	env      Env
	system   nodes // nil: not checked
	policy   *Policy
	blocks   []block // of policy.rules
	limits   map[string]*limits
	vnis     map[string]*vni
	seen     map[string]place // what may be there once, by what it is
	syntax   bool             // a file could not be parsed: what the others name may be in it
	findings []hclfile.Finding
}

func (c *compiler) add(findings ...hclfile.Finding) { c.findings = append(c.findings, findings...) }

func (c *compiler) each(file *hclfile.File, kind string, compile func(*hclfile.File, *hclsyntax.Block)) {
	for _, block := range file.Body.Blocks {
		if block.Type == kind && len(block.Labels) == 1 {
			c.named(file, block)
			compile(file, block)
		}
	}
}

// rules compiles rules, denies and quotas in the order they stand.
func (c *compiler) rules(file *hclfile.File) {
	for _, block := range file.Body.Blocks {
		k := slices.Index(kindNames[:], block.Type)
		if k < 0 || len(block.Labels) != 1 {
			continue
		}
		c.named(file, block)
		if len(c.policy.rules) == MaxRules {
			c.add(file.At(hclfile.Error, block.DefRange(), fmt.Sprintf("the policy has more than the %d rules that it may have", MaxRules), ""))
			return
		}
		c.compileRule(file, block, kind(k))
	}
}

// named checks a block's name and that it is the first of it.
func (c *compiler) named(file *hclfile.File, block *hclsyntax.Block) {
	name, title := block.Labels[0], hclfile.Title(block)
	if name == "" || len(name) > 128 || name != hclfile.Printable(name, 128) {
		c.add(file.At(hclfile.Error, block.LabelRanges[0], title+": its name must have 1 to 128 bytes and no control characters", ""))
		return
	}
	if first, ok := c.seen[block.Type+" "+name]; ok {
		c.add(file.At(hclfile.Error, block.DefRange(), title+" is given twice", fmt.Sprintf("The first is at %s.", first)))
		return
	}
	c.seen[block.Type+" "+name] = at(file, block.TypeRange)
}
