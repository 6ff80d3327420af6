package rpc

import (
	"time"

	"github.com/weft-hpc/weft/core"
	pluginv1 "github.com/weft-hpc/weft/rpc/proto/weft/plugin/v1"
)

// encodeValue of a schema's default or of a block. A value of a Go type that core.Values does not name is sent as nothing, which no decoder takes.
func encodeValue(v any) *pluginv1.Value {
	switch v := v.(type) {
	case string:
		return &pluginv1.Value{Value: &pluginv1.Value_String_{String_: utf(v)}}
	case int64:
		return &pluginv1.Value{Value: &pluginv1.Value_Int{Int: v}}
	case bool:
		return &pluginv1.Value{Value: &pluginv1.Value_Bool{Bool: v}}
	case time.Duration:
		return &pluginv1.Value{Value: &pluginv1.Value_Duration{Duration: int64(v)}}
	case []string:
		return &pluginv1.Value{Value: &pluginv1.Value_Strings{Strings: &pluginv1.Strings{Strings: every(v, utf)}}}
	case []core.Values:
		return &pluginv1.Value{Value: &pluginv1.Value_Blocks{Blocks: &pluginv1.Blocks{Blocks: every(v, encodeValues)}}}
	}
	return &pluginv1.Value{}
}

func encodeValues(v core.Values) *pluginv1.Values {
	p := &pluginv1.Values{Values: make(map[string]*pluginv1.Value, len(v))}
	for name, value := range v {
		p.Values[utf(name)] = encodeValue(value)
	}
	return p
}

// values of a block, never nil.
func (d *decoder) values(p *pluginv1.Values, depth int) core.Values {
	out := make(core.Values, min(len(p.GetValues()), maxItems))
	switch {
	case depth > maxDepth:
		d.fail("block: it is nested more than %d deep", maxDepth)
	case len(p.GetValues()) > maxItems:
		d.fail("block: there are %d values and there may be %d", len(p.GetValues()), maxItems)
	default:
		for name, v := range p.GetValues() {
			if value := d.value(d.field(name), v, depth); d.err == nil {
				out[name] = value
			}
		}
	}
	return out
}

func (d *decoder) field(name string) string {
	if name == "" {
		d.fail("block: a field has no name")
	}
	return d.word("field", name)
}

// value of a field, of the Go type that its kind has; nil with an error for one that is none.
func (d *decoder) value(name string, p *pluginv1.Value, depth int) any {
	switch v := p.GetValue().(type) {
	case *pluginv1.Value_String_:
		return d.fit(name, v.String_, maxHosts)
	case *pluginv1.Value_Int:
		return v.Int
	case *pluginv1.Value_Bool:
		return v.Bool
	case *pluginv1.Value_Duration:
		return time.Duration(v.Duration)
	case *pluginv1.Value_Strings:
		out := each(d, name, v.Strings.GetStrings(), maxRuns, func(s string) string { return d.fit(name, s, maxHosts) })
		if out == nil {
			out = []string{}
		}
		return out
	case *pluginv1.Value_Blocks:
		out := each(d, name, v.Blocks.GetBlocks(), maxItems, func(p *pluginv1.Values) core.Values { return d.values(p, depth+1) })
		if out == nil {
			out = []core.Values{}
		}
		return out
	}
	d.fail("field %q: its value is of no known kind", core.Clip(name))
	return nil
}

func kindOf(v any) core.Kind {
	switch v.(type) {
	case string:
		return core.KindString
	case int64:
		return core.KindInt
	case bool:
		return core.KindBool
	case time.Duration:
		return core.KindDuration
	case []string:
		return core.KindStrings
	case []core.Values:
		return core.KindBlocks
	}
	return 0
}

func encodeSchema(s core.Schema) *pluginv1.Schema {
	return &pluginv1.Schema{Fields: every(s.Fields, func(f core.Field) *pluginv1.Field {
		p := &pluginv1.Field{Name: utf(f.Name), Kind: pluginv1.Kind(f.Kind), Required: f.Required, Doc: text(f.Doc), Labels: count(f.Labels)}
		if f.Default != nil {
			p.Default = encodeValue(f.Default)
		}
		if len(f.Block.Fields) > 0 {
			p.Block = encodeSchema(f.Block)
		}
		return p
	})}
}

func (d *decoder) schema(p *pluginv1.Schema, depth int) core.Schema {
	if depth > maxDepth {
		d.fail("schema: it is nested more than %d deep", maxDepth)
		return core.Schema{}
	}
	return core.Schema{Fields: each(d, "fields", p.GetFields(), maxItems, func(p *pluginv1.Field) core.Field {
		f := core.Field{
			Name: d.field(p.GetName()), Kind: core.Kind(p.GetKind()), Required: p.GetRequired(), Doc: text(p.GetDoc()),
			Labels: d.count("labels", p.GetLabels()), Block: d.schema(p.GetBlock(), depth+1),
		}
		if p.GetKind() < pluginv1.Kind(core.KindString) || p.GetKind() > pluginv1.Kind(core.KindBlocks) {
			d.fail("field %q: there is no kind %d", core.Clip(f.Name), p.GetKind())
		}
		if f.Labels > maxDepth {
			d.fail("field %q: a block has at most %d labels", core.Clip(f.Name), maxDepth)
		}
		if p.GetDefault() != nil {
			f.Default = d.value(f.Name, p.GetDefault(), depth)
			if kindOf(f.Default) != f.Kind {
				d.fail("field %q: its default is of another kind", core.Clip(f.Name))
			}
		}
		return f
	})}
}
