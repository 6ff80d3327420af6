package hclfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/weft-hpc/weft/core"
)

// Shape is what a body may hold. HCL itself refuses an attribute that is given twice.
type Shape struct {
	Where      string // how the body is called in findings: `pool "jobs"`; empty at a file's top
	Attributes []string
	Required   []string // of Attributes
	Blocks     map[string]BlockShape
}

// BlockShape is how often a block may come and which labels it has.
type BlockShape struct {
	Labels []string // what each label is: TYPE, NAME
	Once   bool
}

// Check compares a body with its shape and says all that does not fit.
func (f *File) Check(body *hclsyntax.Body, shape Shape) []Finding {
	var findings []Finding
	where := ""
	if shape.Where != "" {
		where = shape.Where + ": "
	}
	blocks := slices.Sorted(maps.Keys(shape.Blocks))
	for name, attr := range body.Attributes {
		if slices.Contains(shape.Attributes, name) {
			continue
		}
		finding := f.At(Error, attr.NameRange, fmt.Sprintf("%sthere is no attribute %q", where, name), "")
		if block, ok := shape.Blocks[name]; ok {
			finding.Detail = "It is a block; write " + block.form(name) + "."
		} else if finding.Suggestion = Near(name, slices.Concat(shape.Attributes, blocks)); finding.Suggestion == "" {
			finding.Detail = shape.known(blocks)
		}
		findings = append(findings, finding)
	}
	seen := map[string]*hclsyntax.Block{}
	for _, block := range body.Blocks {
		known, ok := shape.Blocks[block.Type]
		if !ok {
			finding := f.At(Error, block.TypeRange, fmt.Sprintf("%sthere is no block %q", where, core.Clip(block.Type)), "")
			if slices.Contains(shape.Attributes, block.Type) {
				finding.Detail = fmt.Sprintf("It is an attribute; write %s = …", block.Type)
			} else if finding.Suggestion = Near(block.Type, slices.Concat(blocks, shape.Attributes)); finding.Suggestion == "" {
				finding.Detail = shape.known(blocks)
			}
			findings = append(findings, finding)
			continue
		}
		if len(block.Labels) != len(known.Labels) {
			findings = append(findings, f.At(Error, block.DefRange(), fmt.Sprintf("%sblock %s has %d names; it must have %d", where, block.Type, len(block.Labels), len(known.Labels)),
				"Write "+known.form(block.Type)+"."))
			continue
		}
		if known.Once {
			if first := seen[block.Type]; first != nil {
				findings = append(findings, f.At(Error, block.DefRange(), fmt.Sprintf("%sblock %s is given twice", where, block.Type),
					fmt.Sprintf("The first is in line %d; put all into one.", first.TypeRange.Start.Line)))
			}
			seen[block.Type] = block
		}
	}
	for _, name := range shape.Required {
		if body.Attributes[name] == nil {
			at := body.MissingItemRange()
			summary := fmt.Sprintf("%s%q is missing", where, name)
			findings = append(findings, f.At(Error, at, summary, ""))
		}
	}
	return findings
}

func (s Shape) known(blocks []string) string {
	all := append(slices.Sorted(slices.Values(s.Attributes)), blocks...)
	if len(all) == 0 {
		return "Nothing may stand here."
	}
	return "There are: " + strings.Join(all, ", ") + "."
}

func (b BlockShape) form(name string) string {
	for _, label := range b.Labels {
		name += fmt.Sprintf(" %q", label)
	}
	return name + " { … }"
}

// Title is how findings call a block: its type and its labels.
func Title(block *hclsyntax.Block) string {
	title := block.Type
	for _, label := range block.Labels {
		title += fmt.Sprintf(" %q", core.Clip(label))
	}
	return title
}
