package policy

import (
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/weft-hpc/weft/core"
)

// Classes are the traffic classes that some job gets without asking for one: a NIC whose QoS profile lacks one of them
// cannot carry all of that job's traffic. A job that asks for a class by name is refused where a NIC lacks it.
func (p *Policy) Classes() core.Classes { return p.classes }

// given collects the classes that jobs get without asking for one. Where it is not certain that no job does, it takes
// them for given.
func (c *compiler) given() (all core.Classes) {
	sets := func(r *rule) bool { return r.kind == ruleKind && r.settings.sets(classesAttr) }
	if !slices.ContainsFunc(c.policy.rules, func(r *rule) bool { return sets(r) && r.always() && !r.constantly(false) }) {
		all = *c.policy.defaults.classes
	}
	for i, r := range c.policy.rules {
		if !sets(r) || r.constantly(false) || c.never(i) != "" || c.refused(i) != nil {
			continue
		}
		later := func(k int) bool { return k > i && sets(c.policy.rules[k]) && c.within(i, k) }
		wished := func(n need) bool { return asksClass(n.tree) }
		if !slices.ContainsFunc(c.around(i), later) && !slices.ContainsFunc(c.blocks[i].needs, wished) {
			all |= *r.settings.classes
		}
	}
	return all
}

// asksClass reports whether an expression is false for each job that asks for no class.
func asksClass(tree hclsyntax.Expression) bool {
	inner, not := bare(tree)
	switch n := inner.(type) {
	case *hclsyntax.FunctionCallExpr:
		return !not && n.Name == "contains" && len(n.Args) == 2 && name(n.Args[0]) == "job.request.traffic_classes"
	case *hclsyntax.BinaryOpExpr:
		return !not && n.Op == hclsyntax.OpLogicalOr && asksClass(n.LHS) && asksClass(n.RHS)
	}
	return false
}
