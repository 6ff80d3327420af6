package config

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hclfile"
)

// Decode applies the plugin's schema to its block. Fields that the block leaves out have their defaults.
func (p Plugin) Decode(schema core.Schema) (core.Values, []hclfile.Finding) {
	d := decoder{file: p.file}
	values := d.body(p.block.Body, schema, hclfile.Title(p.block), reserved[p.Kind], reservedBlocks[p.Kind])
	return values, hclfile.Sort(d.findings)
}

// Apply configures a plugin in this process by its block, and gives the block's values.
func (p Plugin) Apply(ctx context.Context, to core.Configurable) (core.Values, []hclfile.Finding) {
	values, findings := p.Decode(to.Schema())
	if hclfile.Failed(findings) {
		return values, findings
	}
	return values, append(findings, p.Complain(to.Configure(ctx, values))...)
}

func defaults(schema core.Schema) core.Values {
	values := core.Values{}
	for _, field := range schema.Fields {
		values[field.Name] = field.Default
		if field.Default == nil {
			values[field.Name] = zeros[field.Kind]
		}
	}
	return values
}

var zeros = map[core.Kind]any{
	core.KindString:   "",
	core.KindInt:      int64(0),
	core.KindBool:     false,
	core.KindDuration: time.Duration(0),
	core.KindStrings:  []string(nil),
	core.KindBlocks:   []core.Values(nil),
}

type decoder struct {
	file     *hclfile.File
	findings []hclfile.Finding
}

// body reads one level; also and alsoBlocks may stand there beside the schema's fields.
func (d *decoder) body(
	body *hclsyntax.Body, schema core.Schema, where string, also []string, alsoBlocks map[string]hclfile.BlockShape,
) core.Values {
	shape := hclfile.Shape{Where: where, Attributes: slices.Clone(also), Blocks: map[string]hclfile.BlockShape{}}
	maps.Copy(shape.Blocks, alsoBlocks)
	fields := map[string]core.Field{}
	for _, field := range schema.Fields {
		fields[field.Name] = field
		if field.Kind == core.KindBlocks {
			shape.Blocks[field.Name] = hclfile.BlockShape{Labels: slices.Repeat([]string{"NAME"}, field.Labels)}
			continue
		}
		shape.Attributes = append(shape.Attributes, field.Name)
		if field.Required {
			shape.Required = append(shape.Required, field.Name)
		}
	}
	d.findings = append(d.findings, d.file.Check(body, shape)...)
	values := defaults(schema)
	for name, attr := range body.Attributes {
		if field, ok := fields[name]; ok && field.Kind != core.KindBlocks && !slices.Contains(also, name) {
			d.value(values, field, attr.Expr, where+": "+name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(shape.Blocks)) {
		field := fields[name]
		if _, ours := alsoBlocks[name]; ours {
			continue
		}
		var blocks []core.Values
		for _, block := range body.Blocks {
			if block.Type != name || len(block.Labels) != field.Labels {
				continue
			}
			inner := d.body(block.Body, field.Block, where+": "+hclfile.Title(block), nil, nil)
			for i, label := range block.Labels {
				inner[fmt.Sprintf("label%d", i)] = label
			}
			blocks = append(blocks, inner)
		}
		if blocks != nil {
			values[name] = blocks
		} else if field.Required {
			d.findings = append(d.findings, d.file.At(hclfile.Error, body.MissingItemRange(), fmt.Sprintf("%s: a block %s is missing", where, name), field.Doc))
		}
	}
	return values
}

func (d *decoder) value(values core.Values, field core.Field, expr hclsyntax.Expression, what string) {
	var value any
	var findings []hclfile.Finding
	switch field.Kind {
	case core.KindString:
		value, findings = d.file.String(expr, what)
	case core.KindInt:
		value, findings = d.file.Int(expr, what, math.MinInt64+1, math.MaxInt64-1)
	case core.KindBool:
		value, findings = d.file.Bool(expr, what)
	case core.KindDuration:
		value, findings = d.file.Duration(expr, what, 0, math.MaxInt64)
	case core.KindStrings:
		value, findings = texts(d.file, expr, what)
	default:
		findings = []hclfile.Finding{d.file.At(hclfile.Error, expr.Range(), what+": the plugin gives it no kind that this release knows", "Use a plugin of this release.")}
	}
	if findings != nil {
		for i := range findings {
			if findings[i].Detail == "" {
				findings[i].Detail = field.Doc
			}
		}
		d.findings = append(d.findings, findings...)
		return
	}
	values[field.Name] = value
}

func texts(file *hclfile.File, expr hclsyntax.Expression, what string) ([]string, []hclfile.Finding) {
	items, findings := file.Items(expr, what)
	if findings != nil {
		return nil, findings
	}
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = item.Text
	}
	return out, nil
}
