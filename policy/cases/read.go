package cases

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
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

// part is one attribute of a block, or of a block in it.
type part struct {
	path []string
	text json.RawMessage
	at   hcl.Range
}

// value is a block's attributes as JSON. Nothing in it may be a variable or a call.
func (l *loader) value(file *hclfile.File, b *hclsyntax.Block, what string, s shape, path ...string) []part {
	known := hclfile.Shape{Where: what, Attributes: s.names, Blocks: map[string]hclfile.BlockShape{}}
	for name := range s.blocks {
		known.Blocks[name] = hclfile.BlockShape{Once: true}
	}
	l.add(file.Check(b.Body, known)...)
	var out []part
	for _, name := range slices.Sorted(maps.Keys(b.Body.Attributes)) {
		attr := b.Body.Attributes[name]
		if !slices.Contains(s.names, name) {
			continue
		}
		v, diags := attr.Expr.Value(nil)
		if diags.HasErrors() || !v.IsWhollyKnown() || v.IsNull() {
			l.add(file.At(hclfile.Error, attr.Expr.Range(), fmt.Sprintf("%s: %s: it must be a plain value; no variable and no function can stand here", what, name), ""))
			continue
		}
		text, err := ctyjson.Marshal(v, v.Type())
		if err != nil || v.Type() == cty.DynamicPseudoType {
			l.add(file.At(hclfile.Error, attr.Expr.Range(), fmt.Sprintf("%s: %s: it is no plain value", what, name), ""))
			continue
		}
		out = append(out, part{append(slices.Clone(path), name), text, attr.Expr.Range()})
	}
	for _, in := range b.Body.Blocks {
		if of, ok := s.blocks[in.Type]; ok {
			out = append(out, l.value(file, in, what+": "+in.Type, of, append(slices.Clone(path), in.Type)...)...)
		}
	}
	return out
}

// merge puts what parts name in place of what v has. A name that is misspelled deep in a value would expect nothing, in silence.
func (l *loader) merge(v any, parts []part, file *hclfile.File, what string) {
	for _, p := range parts {
		if err := p.into(v); err != nil {
			l.add(file.At(hclfile.Error, p.at, fmt.Sprintf("%s: %s", what, hclfile.Printable(plain(err), 200)), ""))
		}
	}
}

func (p part) into(v any) error {
	text := p.text
	for _, name := range slices.Backward(p.path) {
		text = slices.Concat([]byte("{"+strconv.Quote(name)+":"), text, []byte("}"))
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil {
		return nil
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("%s: there is no %s in it", strings.Join(p.path, "."), name)
	}
	return err
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
