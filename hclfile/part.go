package hclfile

import (
	"bytes"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// partSize is how many bytes are parsed at once, and a little more. The lexer keeps a hundred bytes for each token of what it is given, in a list that it
// copies as it grows: of a large file that is most of the time and nearly all of the memory.
const partSize = 4 << 10

// redefined is how HCL calls an attribute that is given twice.
const redefined = "Attribute redefined"

// parse parses a text in the parts that cuts leave, as if it were one.
func parse(source Source, cuts []int) (*hclsyntax.Body, hcl.Diagnostics) {
	var whole *hclsyntax.Body
	var all hcl.Diagnostics
	at := hcl.InitialPos
	for i := 0; i <= len(cuts); i++ {
		end := len(source.Text)
		if i < len(cuts) {
			end = cuts[i]
		}
		text := source.Text[at.Byte:end]
		parsed, diags := hclsyntax.ParseConfig(text, source.Name, at)
		all = append(all, diags...)
		body, ok := parsed.Body.(*hclsyntax.Body)
		switch {
		case !ok:
			return nil, all
		case whole == nil:
			whole = body
		default:
			all = append(all, add(whole, body)...)
		}
		at = hcl.Pos{Line: at.Line + bytes.Count(text, []byte("\n")), Column: 1, Byte: end}
	}
	return whole, all
}

// add puts a part that follows into body.
func add(body, part *hclsyntax.Body) (diags hcl.Diagnostics) {
	for name, attr := range part.Attributes {
		first, twice := body.Attributes[name]
		if !twice {
			body.Attributes[name] = attr
			continue
		}
		diags = append(diags, &hcl.Diagnostic{
			Severity: hcl.DiagError, Summary: redefined, Subject: &attr.NameRange,
			Detail: fmt.Sprintf("It is set in line %d already. Remove one of the two.", first.NameRange.Start.Line),
		})
	}
	body.Blocks = append(body.Blocks, part.Blocks...)
	body.SrcRange.End, body.EndRange = part.SrcRange.End, part.EndRange
	return diags
}
