package policy

import (
	"math/big"
	"math/bits"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// The conditions that nearly all rules have are computed without HCL, which takes ten microseconds for what takes a hundredth of one: comparisons of a
// variable with a variable or a constant, contains of one of the job's lists or of a list of constants, and && || ! of these. None of them can fail. What
// is not among them is left to HCL, and what HCL makes of one is what these must give.

// direct is the condition, or nil when it is not that simple. All its variables must be known: see lacks.
func direct(tree hclsyntax.Expression) truth {
	switch n := tree.(type) {
	case *hclsyntax.ParenthesesExpr:
		return direct(n.Expression)
	case *hclsyntax.ScopeTraversalExpr:
		of, _ := variables[name(n)].(truth)
		return of
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
	switch of := variables[name(tree)].(type) {
	case amount:
		return of
	case told[int64]:
		return func(e *evaluation) int64 { return *of(e) }
	}
	v := literal(tree)
	if v == cty.NilVal || v.Type() != cty.Number {
		return nil
	}
	n, accuracy := v.AsBigFloat().Int64()
	if accuracy != big.Exact {
		return nil
	}
	return func(*evaluation) int64 { return n }
}

// product is what nearly all limits are: 1024, share.cores, 2 * share.cores. A decision evaluates some twenty of them, and
// HCL takes a microsecond for each. The amount is below zero where it is too large.
func product(tree hclsyntax.Expression) amount {
	if n, ok := tree.(*hclsyntax.ParenthesesExpr); ok {
		return product(n.Expression)
	}
	n, ok := tree.(*hclsyntax.BinaryOpExpr)
	if !ok || n.Op != hclsyntax.OpMultiply {
		return amountOf(tree)
	}
	a, b := amountOf(n.LHS), amountOf(n.RHS)
	if a == nil || b == nil {
		return nil
	}
	return func(e *evaluation) int64 {
		if beyond, v := bits.Mul64(uint64(a(e)), uint64(b(e))); beyond == 0 {
			return int64(v)
		}
		return -1
	}
}

func wordOf(tree hclsyntax.Expression) word {
	switch of := variables[name(tree)].(type) {
	case word:
		return func(e *evaluation) string { return cty.NormalizeString(of(e)) }
	case told[string]:
		return func(e *evaluation) string { return cty.NormalizeString(*of(e)) }
	}
	if text, ok := textOf(tree); ok {
		return func(*evaluation) string { return text }
	}
	return nil
}

// textOf is the text that a literal is.
func textOf(tree hclsyntax.Expression) (string, bool) {
	v := literal(tree)
	if v == cty.NilVal || v.Type() != cty.String {
		return "", false
	}
	return v.AsString(), true
}

// holds is contains(list, element): one of the job's lists and a constant, or a list of constants and a variable.
func holds(in, element hclsyntax.Expression) truth {
	if of, ok := variables[name(in)].(list); ok {
		text, ok := textOf(element)
		if !ok {
			return nil
		}
		return func(e *evaluation) bool {
			return slices.ContainsFunc(of(e), func(s string) bool { return cty.NormalizeString(s) == text })
		}
	}
	tuple, ok := in.(*hclsyntax.TupleConsExpr)
	of := wordOf(element)
	if !ok || of == nil {
		return nil
	}
	texts := make([]string, len(tuple.Exprs))
	for i, item := range tuple.Exprs {
		if texts[i], ok = textOf(item); !ok {
			return nil
		}
	}
	return func(e *evaluation) bool { return slices.Contains(texts, of(e)) }
}
