package policy

import (
	"fmt"
	"math"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hclfile"
)

// number is an expression that must give a whole number from 0 to 65535, which is what a NIC's registers hold.
type number struct {
	*expr
	what   string // as errors call it: txqs.reserved
	place  place
	direct amount // the number, computed without HCL; nil: HCL must
}

func (c *compiler) number(file *hclfile.File, tree hclsyntax.Expression, title, what string, vars scope) *number {
	e := c.expr(file, tree, title+": "+what, vars, cty.Number)
	if e == nil {
		return nil
	}
	if e.constant != cty.NilVal {
		if _, err := whole(e.constant); err != nil {
			c.add(file.At(hclfile.Error, tree.Range(), title+": "+what+": "+err.Error(), ""))
			return nil
		}
	}
	n := &number{expr: e, what: what, place: at(file, tree.Range())}
	if len(e.needs) == 0 {
		n.direct = product(tree)
	}
	return n
}

func (n *number) value(e *evaluation) (uint16, error) {
	if n.direct != nil {
		if v := n.direct(e); v >= 0 && v <= math.MaxUint16 {
			return uint16(v), nil
		}
	}
	v, err := n.expr.value(e)
	if err != nil {
		return 0, err
	}
	return whole(v)
}

func whole(v cty.Value) (uint16, error) {
	f := v.AsBigFloat()
	if n, _ := f.Int64(); f.IsInt() && n >= 0 && n <= math.MaxUint16 {
		return uint16(n), nil
	}
	return 0, fmt.Errorf("%s is not a whole number from 0 to %d", f.Text('g', 10), math.MaxUint16)
}

// fields takes { a = …, b = … } apart; each of required must be there and nothing but them and optional. canonical, unless nil, gives a name's one spelling.
func (c *compiler) fields(file *hclfile.File, tree hclsyntax.Expression, what, form string, required, optional []string, canonical func(string) string) map[string]hclsyntax.Expression {
	object, ok := tree.(*hclsyntax.ObjectConsExpr)
	if !ok {
		c.add(file.At(hclfile.Error, tree.Range(), what+": it must be written as "+form, ""))
		return nil
	}
	known := slices.Concat(required, optional)
	out := map[string]hclsyntax.Expression{}
	for _, item := range object.Items {
		key := hcl.ExprAsKeyword(item.KeyExpr)
		if canonical != nil {
			key = canonical(key)
		}
		_, twice := out[key]
		switch {
		case !slices.Contains(known, key):
			finding := file.At(hclfile.Error, item.KeyExpr.Range(), fmt.Sprintf("%s: there is no %q in it", what, hclfile.Printable(key, 64)), "It is written as "+form+".")
			if key == "" {
				finding.Summary = what + ": what stands before = must be a name"
			}
			finding.Suggestion = hclfile.Near(key, known)
			c.add(finding)
		case twice:
			c.add(file.At(hclfile.Error, item.KeyExpr.Range(), fmt.Sprintf("%s: %q is given twice", what, key), ""))
		default:
			out[key] = item.ValueExpr
		}
	}
	for _, key := range required {
		if out[key] == nil {
			c.add(file.At(hclfile.Error, tree.Range(), fmt.Sprintf("%s: %q is missing", what, key), "It is written as "+form+"."))
		}
	}
	return out
}

func (n *number) fault(where string, err error) *core.Error {
	return core.Errorf(core.PolicyFault, "policy: %s (%s): %s: %w", where, n.place, n.what, err).
		WithRemedy("administrators: mend it at " + n.place.String())
}
