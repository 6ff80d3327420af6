package policy

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hclfile"
)

// widest is how many characters a trace shows of one text or value.
const widest = 200

// condition evaluates an expression part by part.
func (e *expr) condition(tree hclsyntax.Expression, context *hcl.EvalContext) Condition {
	at := tree.Range()
	c := Condition{Text: e.text(tree), Line: at.Start.Line, Column: at.Start.Column}
	switch v, diags := tree.Value(context); {
	case diags.HasErrors():
		c.Error = said(diags)
	default:
		c.Value = shown(v)
	}
	var parts []hclsyntax.Expression
	switch n := tree.(type) {
	case *hclsyntax.ParenthesesExpr:
		c.Join, parts = "(", []hclsyntax.Expression{n.Expression}
	case *hclsyntax.UnaryOpExpr:
		if n.Op == hclsyntax.OpLogicalNot {
			c.Join, parts = "!", []hclsyntax.Expression{n.Val}
		}
	case *hclsyntax.BinaryOpExpr:
		switch n.Op {
		case hclsyntax.OpLogicalAnd:
			c.Join, parts = "&&", joinedBy(nil, n, n.Op)
		case hclsyntax.OpLogicalOr:
			c.Join, parts = "||", joinedBy(nil, n, n.Op)
		}
	}
	for _, part := range parts {
		c.Parts = append(c.Parts, e.condition(part, context))
	}
	if parts == nil {
		c.Reads = e.reads(tree, context)
	}
	return c
}

// joinedBy takes a && b && c apart into three: they are evaluated as such.
func joinedBy(out []hclsyntax.Expression, tree hclsyntax.Expression, op *hclsyntax.Operation) []hclsyntax.Expression {
	if n, ok := tree.(*hclsyntax.BinaryOpExpr); ok && n.Op == op {
		return joinedBy(joinedBy(out, n.LHS, op), n.RHS, op)
	}
	return append(out, tree)
}

func (e *expr) reads(tree hclsyntax.Expression, context *hcl.EvalContext) []Seen {
	var out []Seen
	seen := map[string]bool{}
	for _, steps := range tree.Variables() {
		name := strings.Join(strings.Fields(string(steps.SourceRange().SliceBytes(e.source))), " ")
		if seen[name] {
			continue
		}
		seen[name] = true
		if v, diags := steps.TraverseAbs(context); diags.HasErrors() {
			out = append(out, Seen{name, "an error: " + said(diags)})
		} else {
			out = append(out, Seen{name, shown(v)})
		}
	}
	return out
}

func (e *expr) text(tree hclsyntax.Expression) string { return excerpt(e.source, tree.Range()) }

// excerpt is a part of a file in one line.
func excerpt(source []byte, r hcl.Range) string {
	return hclfile.Printable(strings.Join(strings.Fields(string(r.SliceBytes(source))), " "), widest)
}

// shown is a value as one would write it in a policy file.
func shown(v cty.Value) string { return hclfile.Printable(literalOf(v), widest) }

func literalOf(v cty.Value) string {
	switch t := v.Type(); {
	case !v.IsKnown():
		return "unknown"
	case v.IsNull():
		return "null"
	case t == cty.String:
		return fmt.Sprintf("%q", v.AsString())
	case t == cty.Bool:
		return fmt.Sprint(v.True())
	case t == cty.Number && v.RawEquals(cty.NumberIntVal(core.Unlimited)):
		return "unlimited"
	case t == cty.Number:
		return v.AsBigFloat().Text('g', 10)
	case t.IsListType() || t.IsSetType() || t.IsTupleType():
		var parts []string
		for it := v.ElementIterator(); it.Next(); {
			_, element := it.Element()
			parts = append(parts, literalOf(element))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case t.IsMapType() || t.IsObjectType():
		var parts []string
		for it := v.ElementIterator(); it.Next(); {
			key, element := it.Element()
			parts = append(parts, key.AsString()+" = "+literalOf(element))
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	}
	return v.Type().FriendlyName()
}

// Blame lists the parts that made the condition what it is, none of them made of others: of && that is false the first that is, of || that is true
// the first that is, of others all.
func (c Condition) Blame() []Condition {
	if len(c.Parts) == 0 {
		return []Condition{c}
	}
	var out []Condition
	for _, part := range c.Parts {
		if c.Error != "" && part.Error == "" {
			continue
		}
		if c.Error != "" || c.Join == "&&" && c.Value == "false" && part.Value == "false" || c.Join == "||" && c.Value == "true" && part.Value == "true" {
			return part.Blame()
		}
		if decides := c.Join != "&&" && c.Join != "||" || part.Value == c.Value; decides {
			out = append(out, part.Blame()...)
		}
	}
	return out
}

// why says what the condition gave and what it read, in one line.
func (c Condition) why() string {
	var b strings.Builder
	for i, part := range c.Blame() {
		if i > 0 {
			b.WriteString("; ")
		}
		if part.Error != "" {
			fmt.Fprintf(&b, "%s fails: %s", part.Text, part.Error)
		} else {
			fmt.Fprintf(&b, "%s is %s", part.Text, part.Value)
		}
		for k, read := range part.Reads {
			if read.Name == part.Text {
				continue
			}
			b.WriteString([]string{": ", ", "}[min(k, 1)])
			fmt.Fprintf(&b, "%s is %s", read.Name, read.Value)
		}
	}
	return b.String()
}
