package hclfile

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// A value of a file is written in one way only: a number is not taken from a string nor the other way round. Each of these reads the expression of an
// attribute that may hold no variable; what is how findings call it.

// String reads a text.
func (f *File) String(expr hclsyntax.Expression, what string) (string, []Finding) {
	v, findings := f.constant(expr, cty.String, what, `a text in quotes, such as "n1"`)
	if findings != nil {
		return "", findings
	}
	return v.AsString(), nil
}

// Bool reads true or false.
func (f *File) Bool(expr hclsyntax.Expression, what string) (bool, []Finding) {
	v, findings := f.constant(expr, cty.Bool, what, "true or false")
	return findings == nil && v.True(), findings
}

// Int reads a whole number from least to most.
func (f *File) Int(expr hclsyntax.Expression, what string, least, most int64) (int64, []Finding) {
	v, findings := f.constant(expr, cty.Number, what, "a number without quotes")
	if findings != nil {
		return 0, findings
	}
	n, _ := v.AsBigFloat().Int64()
	if !v.AsBigFloat().IsInt() || n < least || n > most || n == math.MaxInt64 {
		bounds := ""
		if most < math.MaxInt64-1 {
			bounds = fmt.Sprintf(" from %d to %d", least, most)
		}
		return 0, []Finding{f.At(Error, expr.Range(), what+": it is not a whole number"+bounds, "")}
	}
	return n, nil
}

// Duration reads a text such as "60s", "5m" or "1h30m", from least to most.
func (f *File) Duration(expr hclsyntax.Expression, what string, least, most time.Duration) (time.Duration, []Finding) {
	v, findings := f.constant(expr, cty.String, what, `a time in quotes with its unit, such as "60s"`)
	if findings != nil {
		return 0, findings
	}
	d, err := time.ParseDuration(v.AsString())
	if err != nil {
		return 0, []Finding{f.At(Error, expr.Range(), fmt.Sprintf("%s: %q is no time", what, Printable(v.AsString(), 64)), `Write a number with its unit, such as "500ms", "60s", "5m" or "24h".`)}
	}
	if d < least || d > most {
		return 0, []Finding{f.At(Error, expr.Range(), fmt.Sprintf("%s: %s is not from %s to %s", what, brief(d), brief(least), brief(most)), "")}
	}
	return d, nil
}

// Item is one text of a list, with its place.
type Item struct {
	Text string
	At   hcl.Range
}

// Items reads a list of texts.
func (f *File) Items(expr hclsyntax.Expression, what string) ([]Item, []Finding) {
	list, ok := expr.(*hclsyntax.TupleConsExpr)
	if !ok {
		return nil, []Finding{f.At(Error, expr.Range(), what+`: it must be a list of texts, such as ["a", "b"]`, "")}
	}
	items, findings := make([]Item, 0, len(list.Exprs)), []Finding(nil)
	for _, element := range list.Exprs {
		text, more := f.String(element, what)
		if more != nil {
			findings = append(findings, more...)
			continue
		}
		items = append(items, Item{Text: text, At: element.Range()})
	}
	return items, findings
}

func (f *File) constant(expr hclsyntax.Expression, want cty.Type, what, form string) (cty.Value, []Finding) {
	if names := expr.Variables(); len(names) > 0 {
		return cty.NilVal, []Finding{f.At(Error, expr.Range(), fmt.Sprintf("%s: it must be %s; a variable cannot stand here", what, form), "")}
	}
	v, diags := expr.Value(nil)
	if diags.HasErrors() {
		return cty.NilVal, f.From(diags)
	}
	if v.IsNull() || !v.IsWhollyKnown() || !v.Type().Equals(want) {
		return cty.NilVal, []Finding{f.At(Error, expr.Range(), fmt.Sprintf("%s: it must be %s", what, form), "")}
	}
	return v, nil
}

// brief is a duration as a person writes it: 24h, not 24h0m0s.
func brief(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
