package policy

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/hclfile"
)

// block is what is known of a rule's block while loading only.
type block struct {
	file  *hclfile.File
	block *hclsyntax.Block
	needs []need // what its when asks for, all of it
}

// need is one of the conditions that && joins.
type need struct {
	text string
	tree hclsyntax.Expression
}

// constantly reports whether a rule's when gives value for every job.
func (r *rule) constantly(value bool) bool {
	return r.when != nil && r.when.constant != cty.NilVal && r.when.constant.True() == value
}

// idle warns of rules that no job can be for, and of those that change nothing for any job. It claims that only where it is certain.
func (c *compiler) idle() {
	for i, r := range c.policy.rules {
		b := &c.blocks[i]
		if attr := b.block.Body.Attributes["when"]; attr != nil && r.when != nil && r.when.constant == cty.NilVal {
			b.needs = needs(nil, b.file, attr.Expr)
		}
	}
	for i, r := range c.policy.rules {
		b := &c.blocks[i]
		if r.constantly(false) {
			continue // that is said already
		}
		warn := func(format string, args ...any) {
			c.add(b.file.At(hclfile.Warning, b.block.DefRange(), r.title()+": "+fmt.Sprintf(format, args...), ""))
		}
		if why := c.never(i); why != "" {
			warn("it can never match: %s", why)
		} else if d := c.refused(i); d != nil {
			warn("it changes nothing: %s (%s) refuses each job that it is for", d.title(), d.place)
		} else if by := c.replaced(i); by != nil {
			warn("it changes nothing: all that it sets is replaced for each job that it is for, at last by %s (%s)", by.title(), by.place)
		}
	}
}

func needs(out []need, file *hclfile.File, tree hclsyntax.Expression) []need {
	switch n := tree.(type) {
	case *hclsyntax.ParenthesesExpr:
		return needs(out, file, n.Expression)
	case *hclsyntax.BinaryOpExpr:
		if n.Op == hclsyntax.OpLogicalAnd {
			return needs(needs(out, file, n.LHS), file, n.RHS)
		}
	}
	return append(out, need{strings.Join(strings.Fields(string(tree.Range().SliceBytes(file.Text))), " "), tree})
}

// within reports whether each job that rule i is for is one that rule k is for.
func (c *compiler) within(i, k int) bool {
	a, b := &c.policy.rules[i].match, &c.policy.rules[k].match
	for f, list := range b.sorted {
		other := func(s string) bool { _, found := slices.BinarySearch(list, s); return !found }
		if len(list) > 0 && (len(a.lists[f]) == 0 || slices.ContainsFunc(a.lists[f], other)) {
			return false
		}
	}
	if b.nodes != nil {
		if a.nodes == nil || len(a.nodes) > len(b.nodes) {
			return false
		}
		for node := range a.nodes {
			if _, ok := b.nodes[node]; !ok {
				return false
			}
		}
	}
	if when := c.policy.rules[k].when; when == nil || when.constant != cty.NilVal {
		return when == nil || when.constant.True()
	}
	for _, n := range c.blocks[k].needs {
		if !slices.ContainsFunc(c.blocks[i].needs, func(o need) bool { return o.text == n.text }) {
			return false
		}
	}
	return true
}

// around are the rules, in order, that rule i may be within: those that the index has for the first name of one of its lists.
func (c *compiler) around(i int) []int {
	out := slices.Clone(c.policy.by.always)
	for f, list := range c.policy.rules[i].match.lists {
		if len(list) > 0 {
			out = append(out, c.policy.by.named[f][list[0]]...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// refused finds a deny that ends all that rule i is for: anywhere for what grants, before it for another deny.
func (c *compiler) refused(i int) *rule {
	for _, k := range c.around(i) {
		if c.policy.rules[i].kind == denyKind && k >= i {
			return nil
		}
		if d := c.policy.rules[k]; d.kind == denyKind && d.enforce == engine.EnforceDeny && !d.always() && c.within(i, k) {
			return d
		}
	}
	return nil
}

// always reports whether r is for every job; a deny that is was warned of by itself.
func (r *rule) always() bool {
	return r.match.nodes == nil && !slices.ContainsFunc(r.match.lists[:], func(list []string) bool { return len(list) > 0 }) && (r.when == nil || r.when.constant != cty.NilVal)
}

// replaced finds the last of the rules that together replace all that rule i sets.
func (c *compiler) replaced(i int) *rule {
	r := c.policy.rules[i]
	if r.kind != ruleKind {
		return nil
	}
	left := r.settings.all()
	for _, k := range c.around(i) {
		by := c.policy.rules[k]
		if k <= i || by.kind != ruleKind || !slices.ContainsFunc(left, by.settings.sets) || !c.within(i, k) {
			continue
		}
		if left = slices.DeleteFunc(left, by.settings.sets); len(left) == 0 {
			return by
		}
	}
	return nil
}

// never says why no job can be one that rule i is for, or nothing.
func (c *compiler) never(i int) string {
	ranges, texts := map[string][2]int64{}, map[string][]string{}
	if r := c.policy.rules[i]; r.kind == ruleKind && r.match.nodes != nil {
		ranges["job.nodes"] = [2]int64{0, int64(len(r.match.nodes))} // they all are in the list
	}
	if c.env.Topology == nil && !c.env.stored {
		ranges["job.spread"] = [2]int64{}
	}
	for f, list := range c.policy.rules[i].match.lists {
		if len(list) > 0 {
			texts[fieldVariables[f]] = list
		}
	}
	seen, without := map[string]bool{}, map[string]map[string]bool{} // what a job may not have, by variable
	for _, n := range c.blocks[i].needs {
		seen[n.text] = true
		if variable, text := excluded(n.tree); variable != "" {
			if without[variable] == nil {
				without[variable] = map[string]bool{}
			}
			without[variable][text] = true
		}
	}
	for _, n := range c.blocks[i].needs {
		if seen["!"+n.text] || seen["!("+n.text+")"] {
			return fmt.Sprintf("its when needs both %s and the opposite", hclfile.Printable(n.text, 80))
		}
		attr, op, v := comparison(n.tree)
		switch {
		case attr == "":
		case v.Type() == cty.Number:
			k, err := whole(v)
			if err != nil {
				continue
			}
			at, known := ranges[attr]
			if !known {
				at = [2]int64{0, math.MaxInt64} // no number of a job is below 0
			}
			ranges[attr] = narrow(at, op, int64(k))
			if r := ranges[attr]; r[0] > r[1] && attr == "job.spread" && at == [2]int64{} {
				return "job.spread is 0 for every job, since config.hcl has no topology"
			} else if r[0] > r[1] {
				return fmt.Sprintf("no %s is what its when asks for", attr)
			}
		case v.Type() == cty.String && op == hclsyntax.OpEqual:
			if list, known := texts[attr]; known && !slices.Contains(list, v.AsString()) {
				return fmt.Sprintf("no %s is both %q and one of %q", attr, v.AsString(), few(list))
			}
			texts[attr] = []string{v.AsString()}
		}
	}
	for _, variable := range fieldVariables { // of several groups a job needs one, and may have none of them
		if list := texts[variable]; len(list) > 0 && !slices.ContainsFunc(list, func(s string) bool { return !without[variable][s] }) {
			return fmt.Sprintf("%s must have one of %q, and its when excludes them all", variable, few(list))
		}
	}
	return ""
}

// excluded takes apart what says that a variable is not, or does not hold, a text; variable is empty when tree is something else.
func excluded(tree hclsyntax.Expression) (variable, text string) {
	inner, not := bare(tree)
	if call, ok := inner.(*hclsyntax.FunctionCallExpr); ok {
		if !not || call.Name != "contains" || len(call.Args) != 2 || call.ExpandFinal {
			return "", ""
		}
		if v := literal(call.Args[1]); v != cty.NilVal && v.Type() == cty.String {
			return name(call.Args[0]), v.AsString()
		}
		return "", ""
	}
	if attr, op, v := comparison(tree); op == hclsyntax.OpNotEqual && v.Type() == cty.String {
		return attr, v.AsString()
	}
	return "", ""
}

func few(list []string) []string { return list[:min(len(list), 4)] }

// comparison takes attribute OP constant apart, whichever side the constant is on; attr is empty when tree is something else.
func comparison(tree hclsyntax.Expression) (attr string, op *hclsyntax.Operation, v cty.Value) {
	tree, not := bare(tree)
	n, ok := tree.(*hclsyntax.BinaryOpExpr)
	if !ok {
		return "", nil, cty.NilVal
	}
	op, left, right := n.Op, n.LHS, n.RHS
	if not {
		if op, ok = opposites[op]; !ok {
			return "", nil, cty.NilVal
		}
	}
	if name(left) == "" {
		left, right = right, left
		if turned, ok := map[*hclsyntax.Operation]*hclsyntax.Operation{
			hclsyntax.OpLessThan: hclsyntax.OpGreaterThan, hclsyntax.OpLessThanOrEqual: hclsyntax.OpGreaterThanOrEqual,
			hclsyntax.OpGreaterThan: hclsyntax.OpLessThan, hclsyntax.OpGreaterThanOrEqual: hclsyntax.OpLessThanOrEqual,
		}[op]; ok {
			op = turned
		}
	}
	if v = literal(right); v == cty.NilVal {
		return "", nil, v
	}
	return name(left), op, v
}

// opposites are the comparisons that hold where these do not.
var opposites = map[*hclsyntax.Operation]*hclsyntax.Operation{
	hclsyntax.OpEqual: hclsyntax.OpNotEqual, hclsyntax.OpNotEqual: hclsyntax.OpEqual,
	hclsyntax.OpLessThan: hclsyntax.OpGreaterThanOrEqual, hclsyntax.OpGreaterThanOrEqual: hclsyntax.OpLessThan,
	hclsyntax.OpGreaterThan: hclsyntax.OpLessThanOrEqual, hclsyntax.OpLessThanOrEqual: hclsyntax.OpGreaterThan,
}

// bare is an expression without its parentheses and every ! before it, and whether these turn it round.
func bare(tree hclsyntax.Expression) (inner hclsyntax.Expression, not bool) {
	for {
		switch n := tree.(type) {
		case *hclsyntax.ParenthesesExpr:
			tree = n.Expression
			continue
		case *hclsyntax.UnaryOpExpr:
			if n.Op == hclsyntax.OpLogicalNot {
				tree, not = n.Val, !not
				continue
			}
		}
		return tree, not
	}
}

// literal is the value of an expression that names no variable and calls no function.
func literal(tree hclsyntax.Expression) cty.Value {
	if len(tree.Variables()) > 0 {
		return cty.NilVal
	}
	v, diags := tree.Value(nil)
	if diags.HasErrors() || v.IsNull() || !v.IsWhollyKnown() || !v.Type().IsPrimitiveType() {
		return cty.NilVal
	}
	return v
}

// narrow is what of at a comparison with k leaves.
func narrow(at [2]int64, op *hclsyntax.Operation, k int64) [2]int64 {
	switch op {
	case hclsyntax.OpEqual:
		return [2]int64{max(at[0], k), min(at[1], k)}
	case hclsyntax.OpLessThan:
		return [2]int64{at[0], min(at[1], k-1)}
	case hclsyntax.OpLessThanOrEqual:
		return [2]int64{at[0], min(at[1], k)}
	case hclsyntax.OpGreaterThan:
		return [2]int64{max(at[0], k+1), at[1]}
	case hclsyntax.OpGreaterThanOrEqual:
		return [2]int64{max(at[0], k), at[1]}
	}
	return at
}
