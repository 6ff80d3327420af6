package config

import (
	"errors"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hclfile"
)

// Complain makes findings of what the plugin's Configure returned: each core.PathError in err points at the value that its Path names, or at the nearest
// thing around it that the file has; any other error points at the block. nil for nil.
func (p Plugin) Complain(err error) []hclfile.Finding {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var findings []hclfile.Finding
		for _, each := range joined.Unwrap() {
			findings = append(findings, p.Complain(each)...)
		}
		return hclfile.Sort(findings)
	}
	var path []string
	if at, ok := errors.AsType[*core.PathError](err); ok {
		path, err = at.Path, at.Err
	}
	mend := ""
	if known, ok := errors.AsType[*core.Error](err); ok {
		mend = known.Remedy
	}
	return []hclfile.Finding{p.file.At(hclfile.Error, p.place(path), hclfile.Title(p.block)+": "+err.Error(), mend)}
}

func (p Plugin) place(path []string) hcl.Range {
	at, body := p.block.DefRange(), p.block.Body
	for len(path) > 0 {
		name := path[0]
		path = path[1:]
		if attr := body.Attributes[name]; attr != nil {
			at = attr.Expr.Range()
			if list, ok := attr.Expr.(*hclsyntax.TupleConsExpr); ok && len(path) > 0 {
				if i, err := strconv.Atoi(path[0]); err == nil && i >= 0 && i < len(list.Exprs) {
					at = list.Exprs[i].Range()
				}
			}
			return at
		}
		var found []*hclsyntax.Block
		for _, block := range body.Blocks {
			if block.Type == name {
				found = append(found, block)
			}
		}
		if len(found) == 0 {
			return at
		}
		if len(path) == 0 {
			return found[0].DefRange()
		}
		i, err := strconv.Atoi(path[0])
		if err != nil || i < 0 || i >= len(found) {
			return at
		}
		at, body = found[i].DefRange(), found[i].Body
		if path = path[1:]; len(path) == 1 {
			if n, ok := label(path[0]); ok && n < len(found[i].LabelRanges) {
				return found[i].LabelRanges[n]
			}
		}
	}
	return at
}

func label(name string) (int, bool) {
	number, ok := strings.CutPrefix(name, "label")
	n, err := strconv.Atoi(number)
	return n, ok && err == nil && n >= 0
}
