package cases

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/policy/facts"
)

// shape is what a block may hold.
type shape struct {
	names  []string
	blocks map[string]shape
}

var (
	requestShape = shape{names: fields(facts.Request{})}
	jobShape     = shape{names: fields(facts.Job{}, "request"), blocks: map[string]shape{"request": requestShape}}
	useShape     = shape{names: []string{"vnis", "addresses"}}
	expectShape  = shape{names: fields(Expect{})}
)

// fields are the names that a struct has in JSON.
func fields(v any, but ...string) []string {
	var out []string
	t := reflect.TypeOf(v)
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if len(but) == 0 || name != but[0] {
			out = append(out, name)
		}
	}
	return out
}

// value is a block as JSON. Nothing in it may be a variable or a call.
func (l *loader) value(file *hclfile.File, b *hclsyntax.Block, what string, s shape) []byte {
	known := hclfile.Shape{Where: what, Attributes: s.names, Blocks: map[string]hclfile.BlockShape{}}
	for name := range s.blocks {
		known.Blocks[name] = hclfile.BlockShape{Once: true}
	}
	found := file.Check(b.Body, known)
	l.add(found...)
	if hclfile.Failed(found) {
		return nil
	}
	out, failed := map[string]json.RawMessage{}, false
	for name, attr := range b.Body.Attributes {
		v, diags := attr.Expr.Value(nil)
		if diags.HasErrors() || !v.IsWhollyKnown() || v.IsNull() {
			l.add(file.At(hclfile.Error, attr.Expr.Range(), fmt.Sprintf("%s: %s: it must be a plain value; no variable and no function can stand here", what, name), ""))
			failed = true
			continue
		}
		text, err := ctyjson.Marshal(v, v.Type())
		if err != nil || v.Type() == cty.DynamicPseudoType {
			l.add(file.At(hclfile.Error, attr.Expr.Range(), fmt.Sprintf("%s: %s: it is no plain value", what, name), ""))
			failed = true
			continue
		}
		out[name] = text
	}
	for _, in := range b.Body.Blocks {
		text := l.value(file, in, what+": "+in.Type, s.blocks[in.Type])
		failed = failed || text == nil
		out[in.Type] = text
	}
	if failed {
		return nil
	}
	text, err := json.Marshal(out)
	if err != nil {
		l.add(file.At(hclfile.Error, b.DefRange(), what+": "+err.Error(), ""))
		return nil
	}
	return text
}

// plain is an error in the words of the file, not in those of the program.
func plain(err error) string {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		kind := map[reflect.Kind]string{
			reflect.String: "a text in quotes", reflect.Bool: "true or false", reflect.Slice: "a list", reflect.Map: "{ … }", reflect.Struct: "{ … }",
			reflect.Int: "a whole number", reflect.Uint16: "a whole number from 0 to 65535", reflect.Uint32: "a whole number from 0 to 4294967295",
		}[e.Type.Kind()]
		return fmt.Sprintf("%s: it must be %s", e.Field, kind)
	}
	return err.Error()
}
