package policy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hclfile"
)

// expr is an expression that was checked at load.
type expr struct {
	tree     hclsyntax.Expression
	source   []byte // of its file
	want     cty.Type
	constant cty.Value // NilVal when it depends on a variable
	needs    []string  // variables in it that may be unknown
}

// expr checks all names, calls and types of an expression, and that it gives a want. nil when it is wrong.
func (c *compiler) expr(file *hclfile.File, tree hclsyntax.Expression, what string, vars scope, want cty.Type) *expr {
	k := checker{file: file, what: what, vars: vars, schedulers: c.env.Schedulers}
	_ = hclsyntax.VisitAll(tree, k.names) // what is wrong is in k.findings
	if k.local == nil {                   // else what is local to it would be called unknown
		k.context = &hcl.EvalContext{Variables: map[string]cty.Value{}, Functions: functions}
		for name, t := range vars {
			k.context.Variables[name] = cty.UnknownVal(t)
		}
		_ = hclsyntax.VisitAll(tree, k.types)
	}
	if k.findings != nil {
		c.add(k.findings...)
		return nil
	}
	v := k.value(tree)
	if k.findings != nil {
		c.add(k.findings...)
		return nil
	}
	e := &expr{tree: tree, source: file.Text, want: want}
	got, err := e.fit(v)
	if err != nil {
		c.add(file.At(hclfile.Error, tree.Range(), what+": "+err.Error(), ""))
		return nil
	}
	if got.IsWhollyKnown() && len(tree.Variables()) == 0 {
		e.constant = got
	}
	e.needs = uncertain(tree)
	return e
}

// fit checks that v is what is wanted. One way to write a thing: a number is not made of a text.
func (e *expr) fit(v cty.Value) (cty.Value, error) {
	switch {
	case v.Type() == cty.DynamicPseudoType:
		return cty.UnknownVal(e.want), nil
	case !v.Type().Equals(e.want):
		return cty.NilVal, fmt.Errorf("it gives %s, not %s", v.Type().FriendlyName(), e.want.FriendlyName())
	case v.IsNull():
		return cty.NilVal, errors.New("it gives null")
	}
	return v, nil
}

// value evaluates for a job.
func (e *expr) value(of *evaluation) (cty.Value, error) {
	if e.constant != cty.NilVal {
		return e.constant, nil
	}
	v, diags := e.tree.Value(of.context())
	if diags.HasErrors() {
		return cty.NilVal, errors.New(said(diags))
	}
	v, err := e.fit(v)
	if err == nil && !v.IsWhollyKnown() {
		err = of.unknown(e)
	}
	return v, err
}

func said(diags hcl.Diagnostics) string {
	for _, diag := range diags {
		if diag.Severity == hcl.DiagError {
			return hclfile.Printable(strings.TrimSuffix(diag.Summary+": "+diag.Detail, "."), 300)
		}
	}
	return ""
}

// checker goes over one expression.
type checker struct {
	file       *hclfile.File
	what       string
	vars       scope
	schedulers []string               // that config.hcl has; nil: not checked
	local      map[string]bool        // variables of a for expression, which was refused
	nullable   []hclsyntax.Expression // which may be null
	context    *hcl.EvalContext       // with values of which only the type is known
	findings   []hclfile.Finding
}

func (k *checker) wrong(r hcl.Range, why, detail, near string) {
	finding := k.file.At(hclfile.Error, r, k.what+": "+why, detail)
	if finding.Suggestion = near; near != "" {
		finding.Detail = ""
	}
	k.add(finding)
}

// add takes the first finding of each place: HCL and the checks here may stumble over the same thing.
func (k *checker) add(finding hclfile.Finding) {
	for _, f := range k.findings {
		if f.Line == finding.Line && f.Column == finding.Column {
			return
		}
	}
	k.findings = append(k.findings, finding)
}

// names checks one node's variables and functions, and guards its division.
func (k *checker) names(node hclsyntax.Node) hcl.Diagnostics {
	guard(node)
	switch n := node.(type) {
	case *hclsyntax.ForExpr:
		k.local = map[string]bool{n.KeyVar: true, n.ValVar: true}
		k.wrong(n.Range(), "a for expression cannot stand here", "Write a rule for each case.", "")
	case *hclsyntax.SplatExpr:
		k.wrong(n.Range(), "[*] cannot stand here", "", "")
	case *hclsyntax.FunctionCallExpr:
		if _, ok := functions[n.Name]; !ok {
			k.wrong(n.NameRange, fmt.Sprintf("there is no function %q", core.Clip(n.Name)), "There are: "+strings.Join(functionNames, ", ")+".", hclfile.Near(n.Name, functionNames))
		}
		if n.Name == "coalesce" || n.Name == "coalescelist" {
			k.nullable = append(k.nullable, n.Args...)
		}
	case *hclsyntax.ScopeTraversalExpr:
		k.traversal(n.Traversal)
	case *hclsyntax.LiteralValueExpr:
		if n.Val.IsNull() && !slices.Contains(k.nullable, hclsyntax.Expression(n)) {
			k.wrong(n.Range(), "null cannot stand here", `No variable is null: what a job does not have is "", 0, false or [].`, "")
		}
	case *hclsyntax.BinaryOpExpr:
		if equality(n.Op) && (chained(n.LHS) || chained(n.RHS)) {
			k.wrong(n.Range(), "== and != compare two things, not more", "Join comparisons with &&.", "")
		}
	}
	return nil
}

func equality(op *hclsyntax.Operation) bool {
	return op == hclsyntax.OpEqual || op == hclsyntax.OpNotEqual
}

func logical(op *hclsyntax.Operation) bool {
	return op == hclsyntax.OpLogicalAnd || op == hclsyntax.OpLogicalOr
}

func chained(e hclsyntax.Expression) bool {
	n, ok := e.(*hclsyntax.BinaryOpExpr)
	return ok && equality(n.Op)
}

func (k *checker) traversal(steps hcl.Traversal) {
	root := steps.RootName()
	if k.local[root] {
		return
	}
	t, ok := k.vars[root]
	if !ok {
		known := slices.Sorted(maps.Keys(k.vars))
		detail := "No variable may stand here."
		if len(known) > 0 {
			detail = "There are: " + strings.Join(known, ", ") + "."
		}
		if root == "share" {
			detail = "share is there only in a limits block, since each share of a job has its own."
		}
		k.wrong(steps[0].SourceRange(), fmt.Sprintf("there is no variable %q", core.Clip(root)), detail, hclfile.Near(root, known))
		return
	}
	path := root
	for _, step := range steps[1:] {
		name := member(step)
		if !t.IsObjectType() || name == "" {
			return
		}
		if !t.HasAttribute(name) {
			known := slices.Sorted(maps.Keys(t.AttributeTypes()))
			near := hclfile.Near(name, known)
			if near != "" {
				near = path + "." + near
			}
			k.wrong(step.SourceRange(), fmt.Sprintf("there is no %s.%s", path, core.Clip(name)), path+" has: "+strings.Join(known, ", ")+".", near)
			return
		}
		t, path = t.AttributeType(name), path+"."+name
	}
	if t.IsObjectType() {
		known := slices.Sorted(maps.Keys(t.AttributeTypes()))
		k.wrong(steps.SourceRange(), path+" cannot stand alone", fmt.Sprintf("Write which of it: %s.%s.", path, strings.Join(known, ", "+path+".")), "")
	}
}

// types checks what evaluation with unknown values would not notice: the side of && || or ?: that it does not need, a text that
// would be taken for a number, and a comparison that no job can make true because its sides are of different types.
func (k *checker) types(node hclsyntax.Node) hcl.Diagnostics {
	switch n := node.(type) {
	case *hclsyntax.BinaryOpExpr:
		switch {
		case logical(n.Op):
			k.truth(n.LHS)
			k.truth(n.RHS)
		case equality(n.Op):
			k.alike(n.LHS, n.RHS)
		default:
			k.amount(n.LHS)
			k.amount(n.RHS)
		}
	case *hclsyntax.UnaryOpExpr:
		if _, again := n.Val.(*hclsyntax.UnaryOpExpr); again {
			break
		}
		if n.Op.Type == cty.Number {
			k.amount(n.Val)
		} else {
			k.truth(n.Val)
		}
	case *hclsyntax.ConditionalExpr:
		k.truth(n.Condition)
		k.value(n.TrueResult)
		k.value(n.FalseResult)
	case *hclsyntax.TemplateExpr:
		for _, part := range n.Parts {
			if t := k.value(part).Type(); !single(t) {
				k.wrong(part.Range(), fmt.Sprintf("this gives %s, which no text can hold", t.FriendlyName()), `Write ${join(", ", list)}.`, "")
			}
		}
	case *hclsyntax.FunctionCallExpr:
		k.arguments(n)
		if n.Name == "contains" && len(n.Args) == 2 && !n.ExpandFinal {
			k.contains(n.Args[0], n.Args[1])
		}
	}
	return nil
}

// arguments checks those that a function does not look at while they are unknown, or would take for what they are not.
func (k *checker) arguments(call *hclsyntax.FunctionCallExpr) {
	f, ok := functions[call.Name]
	if !ok {
		return
	}
	for i, arg := range call.Args {
		v := k.value(arg)
		switch {
		case call.ExpandFinal && i == len(call.Args)-1:
		case call.Name == "concat", call.Name == "contains" && i == 0:
			if single(v.Type()) && v.Type() != cty.DynamicPseudoType || v.Type().IsObjectType() || v.Type().IsMapType() {
				k.wrong(arg.Range(), fmt.Sprintf("this gives %s, where a list is needed", v.Type().FriendlyName()), "", "")
			}
		case parameter(f, i) == cty.Number && v.Type() == cty.String:
			k.wrong(arg.Range(), "this gives string, where a number is needed", "", "")
		}
	}
}

// parameter is the type of a function's i-th argument.
func parameter(f function.Function, i int) cty.Type {
	switch fixed, more := f.Params(), f.VarParam(); {
	case i < len(fixed):
		return fixed[i].Type
	case more != nil:
		return more.Type
	}
	return cty.DynamicPseudoType
}

func (k *checker) truth(e hclsyntax.Expression)  { k.gives(e, cty.Bool, "true or false is needed") }
func (k *checker) amount(e hclsyntax.Expression) { k.gives(e, cty.Number, "a number is needed") }

// gives checks that e gives a want. It leaves sums and chains of && and || out: their parts are checked one by one.
func (k *checker) gives(e hclsyntax.Expression, want cty.Type, needed string) {
	if n, ok := e.(*hclsyntax.BinaryOpExpr); ok && n.Op.Type == want && (want == cty.Number || logical(n.Op)) {
		return
	}
	if v := k.value(e); v.Type() != cty.DynamicPseudoType && v.Type() != want {
		k.wrong(e.Range(), fmt.Sprintf("this gives %s, where %s", v.Type().FriendlyName(), needed), "", "")
	}
}

func (k *checker) alike(a, b hclsyntax.Expression) {
	one, two := k.value(a), k.value(b)
	k.scheduler(a, b, two)
	k.scheduler(b, a, one)
	x, y := one.Type(), two.Type()
	if !single(x) && !single(y) {
		// The order of a job's groups is nobody's choice, and HCL holds a list that is written out never equal to one of a variable.
		k.wrong(hcl.RangeBetween(a.Range(), b.Range()), "lists cannot be compared", `Ask contains(list, "a"), or length(setsubtract(list, ["a", "b"])) == 0.`, "")
		return
	}
	if x == cty.DynamicPseudoType || y == cty.DynamicPseudoType || x.Equals(y) {
		return
	}
	k.wrong(hcl.RangeBetween(a.Range(), b.Range()), fmt.Sprintf("this compares %s with %s, which are never equal", x.FriendlyName(), y.FriendlyName()), "", "")
}

// single reports whether a value of type t is one text, number or truth, or may be.
func single(t cty.Type) bool { return t.IsPrimitiveType() || t == cty.DynamicPseudoType }

// scheduler checks the name that job.scheduler is compared with.
func (k *checker) scheduler(variable, with hclsyntax.Expression, v cty.Value) {
	if k.schedulers == nil || name(variable) != "job.scheduler" || v.Type() != cty.String || !v.IsKnown() || v.IsNull() || slices.Contains(k.schedulers, v.AsString()) {
		return
	}
	k.wrong(with.Range(), fmt.Sprintf("config.hcl has no scheduler %q", core.Clip(v.AsString())), "There are: "+strings.Join(k.schedulers, ", ")+".", hclfile.Near(v.AsString(), k.schedulers))
}

func (k *checker) contains(list, element hclsyntax.Expression) {
	l, e := k.value(list), k.value(element)
	if (l.Type().IsListType() || l.Type().IsSetType()) && e.Type() != cty.DynamicPseudoType && !l.Type().ElementType().Equals(e.Type()) {
		k.wrong(element.Range(), fmt.Sprintf("this looks for %s in %s, where it never is", e.Type().FriendlyName(), l.Type().FriendlyName()), "", "")
		return
	}
	known := map[string][]string{"job.request.traffic_classes": core.ClassNames(), "job.request.limits": core.ResourceNames()}[name(list)]
	if known != nil && e.IsKnown() && !e.IsNull() && !slices.Contains(known, e.AsString()) {
		k.wrong(element.Range(), fmt.Sprintf("%s never holds %q", name(list), core.Clip(e.AsString())), "It can hold: "+strings.Join(known, ", ")+".", hclfile.Near(e.AsString(), known))
	}
}

// member is the name in .name and in ["name"]; empty where step is something else.
func member(step hcl.Traverser) string {
	switch s := step.(type) {
	case hcl.TraverseAttr:
		return s.Name
	case hcl.TraverseIndex:
		if s.Key.Type() == cty.String {
			return s.Key.AsString()
		}
	}
	return ""
}

// synonyms are variables that have another name, by the name that is not used within.
var synonyms = map[string]string{"job.partition": "job.queue"}

// name is the dotted name of a plain variable, of which one that has two has one.
func name(e hclsyntax.Expression) string {
	n, ok := e.(*hclsyntax.ScopeTraversalExpr)
	if !ok {
		return ""
	}
	words := []string{n.Traversal.RootName()}
	for _, step := range n.Traversal[1:] {
		attr := member(step)
		if attr == "" {
			return ""
		}
		words = append(words, attr)
	}
	return cmp.Or(synonyms[strings.Join(words, ".")], strings.Join(words, "."))
}

func (k *checker) value(e hclsyntax.Expression) cty.Value {
	v, diags := e.Value(k.context)
	for _, finding := range k.file.From(diags) {
		finding.Summary = k.what + ": " + finding.Summary
		k.add(finding)
	}
	if diags.HasErrors() {
		return cty.DynamicVal
	}
	if v.Type().IsTupleType() { // ["a", "b"] is a list of texts
		if l, err := convert.Convert(v, cty.List(cty.DynamicPseudoType)); err == nil {
			return l
		}
	}
	return v
}
