package policy

import (
	"errors"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// In HCL a division by zero is infinity, which compares with anything: a deny that divides by the wrong number would be silently false. Here it is an error,
// at load already where the divisor is written out.
var (
	divide = guarded(stdlib.DivideFunc)
	modulo = guarded(stdlib.ModuloFunc)
)

func guarded(f function.Function) *hclsyntax.Operation {
	return &hclsyntax.Operation{Type: cty.Number, Impl: function.New(&function.Spec{
		Params: []function.Parameter{{Name: "a", Type: cty.Number, AllowUnknown: true}, {Name: "b", Type: cty.Number, AllowUnknown: true}},
		Type:   function.StaticReturnType(cty.Number),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if args[1].IsKnown() && args[1].AsBigFloat().Sign() == 0 {
				return cty.NilVal, errors.New("division by zero")
			}
			return f.Call(args)
		},
	})}
}

// guard replaces the operations of a parsed expression.
func guard(node hclsyntax.Node) {
	if n, ok := node.(*hclsyntax.BinaryOpExpr); ok {
		switch n.Op {
		case hclsyntax.OpDivide:
			n.Op = divide
		case hclsyntax.OpModulo:
			n.Op = modulo
		}
	}
}
