package policy

import (
	"fmt"
	"math"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// slope recognises share.cores, 2 * share.cores and share.cores * 2, which nearly all limits are. They are computed directly: a decision evaluates some
// twenty limits, and HCL takes a microsecond for each.
func slope(tree hclsyntax.Expression) (int64, bool) {
	switch n := tree.(type) {
	case *hclsyntax.ParenthesesExpr:
		return slope(n.Expression)
	case *hclsyntax.ScopeTraversalExpr:
		return 1, name(n) == "share.cores"
	case *hclsyntax.BinaryOpExpr:
		if n.Op != hclsyntax.OpMultiply {
			return 0, false
		}
		factor, other := n.LHS, n.RHS
		if _, ok := factor.(*hclsyntax.LiteralValueExpr); !ok {
			factor, other = other, factor
		}
		literal, ok := factor.(*hclsyntax.LiteralValueExpr)
		if !ok || name(other) != "share.cores" || literal.Val.Type() != cty.Number {
			return 0, false
		}
		k, err := whole(literal.Val)
		return int64(k), err == nil
	}
	return 0, false
}

// perShare evaluates for a share with this many cores.
func (n *number) perShare(context func() *hcl.EvalContext, cores int) (uint16, error) {
	switch {
	case n.fixed:
		return n.always, nil
	case n.linear && cores >= 0 && cores <= math.MaxInt32:
		v := n.slope * int64(cores)
		if v > math.MaxUint16 {
			return 0, tooMuch(fmt.Sprint(v))
		}
		return uint16(v), nil
	}
	return n.value(context())
}

func tooMuch(n string) error {
	return fmt.Errorf("%s is not a whole number from 0 to %d", n, math.MaxUint16)
}
