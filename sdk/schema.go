package sdk

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
)

// The kinds of Go types that a block can be read into.
var (
	durationType = reflect.TypeFor[time.Duration]()
	stringsType  = reflect.TypeFor[[]string]()
)

// SchemaOf describes a plugin's block of config.hcl by the struct that it is read into; v is a struct or a pointer to one, and what it holds are the
// defaults. The tags of a field are
//
//	weft:"name"            its name in the block; a field without it is not of the block
//	weft:"name,required"   it must stand there
//	weft:",label"          a block's label (KindBlocks only), in the order of the fields
//	doc:"one sentence"     shown beside a mistake; say unit and range
//	min:"1" max:"16"       bounds of an integer or a duration, which Decode holds
//
// A field is a string, an integer, a bool, a time.Duration, a []string, or a slice of such structs: repeated blocks. The first element of that slice, where
// there is one, holds the defaults of a block. It panics on anything else, which is a mistake in the plugin's source and shows at its first start.
func SchemaOf(v any) core.Schema {
	return schemaOf(structOf(reflect.ValueOf(v)))
}

// Decode reads a block's values into the struct that into points to, as SchemaOf described it. Fields that values does not have keep what they hold. What
// is of the wrong kind or out of its bounds is a core.PathError, so that the administrator sees the line of config.hcl.
func Decode(values core.Values, into any) error {
	p := reflect.ValueOf(into)
	if p.Kind() != reflect.Pointer || p.IsNil() || p.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("sdk.Decode: %T is not a pointer to a struct", into))
	}
	return decode(values, p.Elem(), nil)
}

// field is a struct's field that is of the block.
type field struct {
	index    int
	name     string
	required bool
	label    int // -1: not a label
	doc      string
	min, max *int64
}

func fieldsOf(t reflect.Type) []field {
	var out []field
	labels := 0
	for i := range t.NumField() {
		f := t.Field(i)
		tag, ok := f.Tag.Lookup("weft")
		if !ok {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		d := field{index: i, name: name, label: -1, doc: f.Tag.Get("doc")}
		for option := range strings.SplitSeq(options, ",") {
			switch option {
			case "":
			case "required":
				d.required = true
			case "label":
				d.label, d.name = labels, fmt.Sprintf("label%d", labels)
				labels++
			default:
				panic(fmt.Sprintf("sdk: field %s of %s: option %q is neither required nor label", f.Name, t, option))
			}
		}
		d.min, d.max = bound(t, f, "min"), bound(t, f, "max")
		if !f.IsExported() || d.name == "" || d.label >= 0 && f.Type.Kind() != reflect.String {
			panic(fmt.Sprintf("sdk: field %s of %s: it must be exported and have a name; a label is a string", f.Name, t))
		}
		out = append(out, d)
	}
	return out
}

func bound(t reflect.Type, f reflect.StructField, tag string) *int64 {
	text, ok := f.Tag.Lookup(tag)
	if !ok {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if f.Type == durationType {
		var d time.Duration
		d, err = time.ParseDuration(text)
		n = int64(d)
	}
	if err != nil || kindOf(f.Type) != core.KindInt && kindOf(f.Type) != core.KindDuration {
		panic(fmt.Sprintf("sdk: field %s of %s: %s:%q is no bound of a %s", f.Name, t, tag, text, f.Type))
	}
	return &n
}

// kindOf is 0 for a type that a block cannot be read into.
func kindOf(t reflect.Type) core.Kind {
	switch {
	case t == durationType:
		return core.KindDuration
	case t == stringsType:
		return core.KindStrings
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return core.KindBlocks
	case t.Kind() == reflect.String:
		return core.KindString
	case t.Kind() == reflect.Bool:
		return core.KindBool
	case reflect.Int <= t.Kind() && t.Kind() <= reflect.Uint32:
		return core.KindInt
	}
	return 0
}

func structOf(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return reflect.Zero(v.Type().Elem())
		}
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		panic(fmt.Sprintf("sdk.SchemaOf: a %s is not a struct", v.Kind()))
	}
	return v
}

func schemaOf(v reflect.Value) core.Schema {
	var s core.Schema
	for _, f := range fieldsOf(v.Type()) {
		if f.label >= 0 {
			continue
		}
		value := v.Field(f.index)
		out := core.Field{Name: f.name, Kind: kindOf(value.Type()), Required: f.required, Doc: f.doc}
		switch out.Kind {
		case 0:
			panic(fmt.Sprintf("sdk: field %s of %s: a block cannot be read into a %s", f.name, v.Type(), value.Type()))
		case core.KindStrings:
			if value.Len() > 0 {
				out.Default = value.Interface()
			}
		case core.KindBlocks:
			block := reflect.Zero(value.Type().Elem())
			if value.Len() > 0 {
				block = value.Index(0)
			}
			out.Block = schemaOf(block)
			for _, inner := range fieldsOf(block.Type()) {
				if inner.label >= 0 {
					out.Labels++
				}
			}
		default:
			out.Default = value.Convert(valueTypes[out.Kind]).Interface()
		}
		if f.required {
			out.Default = nil
		}
		s.Fields = append(s.Fields, out)
	}
	return s
}
