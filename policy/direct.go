package policy

import (
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/weft-hpc/weft/core"
)

// The conditions that nearly all rules have are computed without HCL, which takes ten microseconds for what takes a hundredth of one: comparisons of a
// variable with a variable or a constant, contains of one of the job's lists or of a list of constants, and && || ! of these. None of them can fail. What
// is not among them is left to HCL, and what HCL makes of one is what these must give.

type (
	truth  func(*evaluation) bool
	amount func(*evaluation) int64
	word   func(*evaluation) string
)

var truths = map[string]truth{
	"job.request.off":             func(e *evaluation) bool { return e.facts.Job.Request.Off },
	"job.request.job_vni":         func(e *evaluation) bool { return e.facts.Job.Request.JobVNI },
	"job.request.single_node_vni": func(e *evaluation) bool { return e.facts.Job.Request.SingleNode },
	"job.request.collectives":     func(e *evaluation) bool { return e.facts.Job.Request.Collectives },
}

var amounts = map[string]amount{
	"job.nodes":         func(e *evaluation) int64 { return int64(e.facts.Job.Nodes()) },
	"job.cores":         func(e *evaluation) int64 { return int64(cores(e.facts.Job)) },
	"job.spread":        func(e *evaluation) int64 { return int64(e.spread()) },
	"job.uid":           func(e *evaluation) int64 { return int64(e.facts.Job.UID) },
	"job.gid":           func(e *evaluation) int64 { return int64(e.facts.Job.GID) },
	"job.request.vnis":  func(e *evaluation) int64 { return int64(e.facts.Job.Request.VNIs) },
	"job.request.depth": func(e *evaluation) int64 { return int64(e.facts.Job.Request.Depth) },
	"system.nodes":      func(e *evaluation) int64 { return int64(e.facts.System.Nodes) },
}

var words = map[string]word{
	"job.id":        func(e *evaluation) string { return cty.NormalizeString(e.facts.Job.JobID.Job) },
	"job.scheduler": func(e *evaluation) string { return cty.NormalizeString(e.facts.Job.Scheduler) },
	"job.user":      func(e *evaluation) string { return cty.NormalizeString(e.facts.Job.User) },
	"job.account":   func(e *evaluation) string { return cty.NormalizeString(e.facts.Job.Account) },
	"job.queue":     func(e *evaluation) string { return cty.NormalizeString(e.facts.Job.Queue) },
}

// direct is the condition, or nil when it is not that simple.
func direct(tree hclsyntax.Expression) truth {
	switch n := tree.(type) {
	case *hclsyntax.ParenthesesExpr:
		return direct(n.Expression)
	case *hclsyntax.ScopeTraversalExpr:
		return truths[name(n)]
	case *hclsyntax.UnaryOpExpr:
		if of := direct(n.Val); of != nil && n.Op == hclsyntax.OpLogicalNot {
			return func(e *evaluation) bool { return !of(e) }
		}
	case *hclsyntax.BinaryOpExpr:
		return binary(n)
	case *hclsyntax.FunctionCallExpr:
		if n.Name == "contains" && len(n.Args) == 2 && !n.ExpandFinal {
			return holds(n.Args[0], n.Args[1])
		}
	case *hclsyntax.LiteralValueExpr:
		if n.Val.Type() == cty.Bool && n.Val.IsKnown() && !n.Val.IsNull() {
			always := n.Val.True()
			return func(*evaluation) bool { return always }
		}
	}
	return nil
}

func binary(n *hclsyntax.BinaryOpExpr) truth {
	switch n.Op {
	case hclsyntax.OpLogicalAnd, hclsyntax.OpLogicalOr:
		a, b := direct(n.LHS), direct(n.RHS)
		switch {
		case a == nil || b == nil:
			return nil
		case n.Op == hclsyntax.OpLogicalAnd:
			return func(e *evaluation) bool { return a(e) && b(e) }
		}
		return func(e *evaluation) bool { return a(e) || b(e) }
	case hclsyntax.OpEqual, hclsyntax.OpNotEqual:
		equal := n.Op == hclsyntax.OpEqual
		if a, b := wordOf(n.LHS), wordOf(n.RHS); a != nil && b != nil {
			return func(e *evaluation) bool { return (a(e) == b(e)) == equal }
		}
		if a, b := direct(n.LHS), direct(n.RHS); a != nil && b != nil {
			return func(e *evaluation) bool { return (a(e) == b(e)) == equal }
		}
	}
	a, b := amountOf(n.LHS), amountOf(n.RHS)
	if a == nil || b == nil {
		return nil
	}
	switch n.Op {
	case hclsyntax.OpEqual:
		return func(e *evaluation) bool { return a(e) == b(e) }
	case hclsyntax.OpNotEqual:
		return func(e *evaluation) bool { return a(e) != b(e) }
	case hclsyntax.OpLessThan:
		return func(e *evaluation) bool { return a(e) < b(e) }
	case hclsyntax.OpLessThanOrEqual:
		return func(e *evaluation) bool { return a(e) <= b(e) }
	case hclsyntax.OpGreaterThan:
		return func(e *evaluation) bool { return a(e) > b(e) }
	case hclsyntax.OpGreaterThanOrEqual:
		return func(e *evaluation) bool { return a(e) >= b(e) }
	}
	return nil
}

func amountOf(tree hclsyntax.Expression) amount {
	if of := amounts[name(tree)]; of != nil {
		return of
	}
	v := literal(tree)
	if v == cty.NilVal || v.Type() != cty.Number {
		return nil
	}
	k, err := whole(v)
	if err != nil {
		return nil
	}
	n := int64(k)
	return func(*evaluation) int64 { return n }
}

func wordOf(tree hclsyntax.Expression) word {
	if of := words[name(tree)]; of != nil {
		return of
	}
	v := literal(tree)
	if v == cty.NilVal || v.Type() != cty.String {
		return nil
	}
	text := v.AsString()
	return func(*evaluation) string { return text }
}

// holds is contains(list, element): one of the job's lists and a constant, or a list of constants and a variable.
func holds(list, element hclsyntax.Expression) truth {
	if tuple, ok := list.(*hclsyntax.TupleConsExpr); ok {
		texts, of := make([]string, 0, len(tuple.Exprs)), words[name(element)]
		for _, item := range tuple.Exprs {
			v := literal(item)
			if v == cty.NilVal || v.Type() != cty.String {
				return nil
			}
			texts = append(texts, v.AsString())
		}
		if of == nil {
			return nil
		}
		return func(e *evaluation) bool { return slices.Contains(texts, of(e)) }
	}
	v := literal(element)
	if v == cty.NilVal || v.Type() != cty.String {
		return nil
	}
	text := v.AsString()
	switch name(list) {
	case "job.groups":
		return func(e *evaluation) bool {
			return slices.ContainsFunc(e.facts.Job.Groups, func(group string) bool { return cty.NormalizeString(group) == text })
		}
	case "job.request.traffic_classes":
		i := slices.Index(core.ClassNames(), text)
		return func(e *evaluation) bool { return i >= 0 && e.facts.Job.Request.Classes&(1<<i) != 0 }
	case "job.request.limits":
		i := slices.Index(core.ResourceNames(), text)
		return func(e *evaluation) bool { return i >= 0 && asked(e.facts.Job.Request.Limits[i]) }
	}
	return nil
}
