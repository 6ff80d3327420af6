package rpc

import (
	"bytes"
	"encoding/json"
	"flag"
	"hash/fnv"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/weft-hpc/weft/core"
)

var update = flag.Bool("update", false, "write the golden messages anew")

// goldens are the golden messages of all types so far.
var goldens []proto.Message

// golden compares a message of each named value with its file. A field that encode and decode both put in the wrong
// place comes back as it was sent: only the file shows it.
func golden[D any, P proto.Message](t *testing.T, encode func(D) P) (all []proto.Message) {
	t.Helper()
	var text bytes.Buffer
	for only := -1; ; only++ {
		var v D
		if filled := (naming{only}).fill(reflect.ValueOf(&v).Elem(), ""); !filled {
			break
		}
		m := encode(v)
		one, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Indent(&text, one, "", "  "); err != nil {
			t.Fatal(err)
		}
		text.WriteByte('\n')
		all = append(all, m)
	}
	path := filepath.Join("testdata", "wire", filepath.Base(t.Name())+".json")
	if *update {
		if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text.String()); diff != "" {
		t.Errorf("peers of another release read this otherwise: see whether a field went to another's place, "+
			"else `make golden` (-%s +encoded)\n%s", path, diff)
	}
	return all
}

// naming fills values after the names of their fields. With only, it fills the truth value of that number in each
// struct and nothing else: two that are both true would not show that they changed places.
type naming struct{ only int }

// withFile are types whose own file has all of them; elsewhere their first field is enough.
var withFile = types(core.Key{}, core.JobID{}, core.Run{}, core.Head{}, core.Peer{}, core.Error{}, core.Limits{},
	[core.NumResources]uint16{}, core.Owner{}, core.Service{}, core.Collective{}, core.Grant{}, core.Job{}, core.Request{})

func types(of ...any) map[reflect.Type]bool {
	out := map[reflect.Type]bool{}
	for _, v := range of {
		out[reflect.TypeOf(v)] = true
	}
	return out
}

func (n naming) fill(v reflect.Value, name string) (filled bool) {
	within := v.Kind() == reflect.Struct || v.Kind() == reflect.Array || v.Kind() == reflect.Slice
	if n.only >= 0 && !within {
		return false
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(name))
	number := uint64(sum.Sum32()%50_000) + 1 // every number of core's may be that large, but for those of 8 bits
	switch v.Kind() {
	case reflect.String:
		v.SetString(name)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(number%2 + 1)
	case reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(number)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(number))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return n.fill(v.Elem(), name)
	case reflect.Interface:
		if v.Type() == reflect.TypeFor[error]() {
			v.Set(reflect.ValueOf(&core.Error{What: name}))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		if all, ok := v.Interface().(core.Values); ok {
			all["string"], all["int"], all["bool"], all["duration"] = "s", int64(1), true, time.Duration(2)
			all["strings"], all["blocks"] = []string{"s"}, []core.Values{{"in": "a block"}}
			break
		}
		v.SetMapIndex(reflect.ValueOf(name+"-key"), reflect.ValueOf(name))
	case reflect.Slice:
		one := reflect.MakeSlice(v.Type(), 1, 1)
		if filled = n.fill(one.Index(0), name); filled {
			v.Set(one)
		}
		return filled
	case reflect.Array:
		for i := range v.Len() {
			filled = n.fill(v.Index(i), name+"-"+strconv.Itoa(i)) || filled
			if name != "" && withFile[v.Type()] {
				break
			}
		}
		return filled
	case reflect.Struct:
		return n.fields(v, name)
	default:
		panic("no message can hold a " + v.Type().String())
	}
	return true
}

func (n naming) fields(v reflect.Value, name string) (filled bool) {
	truths := 0
	for i := range v.NumField() {
		of := v.Type().Field(i)
		if !of.IsExported() || of.Type == reflect.TypeFor[core.Schema]() { // a schema has schemas in it
			continue
		}
		at := strings.TrimPrefix(name+"."+of.Name, ".")
		if n.only >= 0 && of.Type.Kind() == reflect.Bool {
			v.Field(i).SetBool(truths == n.only)
			filled = filled || truths == n.only
			truths++
			continue
		}
		filled = n.fill(v.Field(i), at) || filled
		if name != "" && withFile[v.Type()] {
			break
		}
	}
	return filled
}

// unlike fails where two fields of a kind are alike in all messages: that they changed places would not show.
func unlike(t *testing.T, all []proto.Message) {
	seen := map[protoreflect.FullName][]protoreflect.Message{}
	for _, m := range all {
		visit(m.ProtoReflect(), func(m protoreflect.Message) {
			name := m.Descriptor().FullName()
			seen[name] = append(seen[name], m)
		})
	}
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := 0; strings.HasPrefix(string(f.Package()), "weft.") && i < f.Messages().Len(); i++ {
			d := f.Messages().Get(i)
			for j := range d.Fields().Len() {
				for k := range j {
					a, b := d.Fields().Get(j), d.Fields().Get(k)
					if sameKind(a, b) && !differ(seen[d.FullName()], a, b) {
						t.Errorf("%s: no golden message tells %s from %s", d.FullName(), b.Name(), a.Name())
					}
				}
			}
		}
		return true
	})
}

func visit(m protoreflect.Message, each func(protoreflect.Message)) {
	each(m)
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap():
			v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
				if f.MapValue().Message() != nil {
					visit(v.Message(), each)
				}
				return true
			})
		case f.Message() != nil && f.IsList():
			for i := range v.List().Len() {
				visit(v.List().Get(i).Message(), each)
			}
		case f.Message() != nil:
			visit(v.Message(), each)
		}
		return true
	})
}

func sameKind(a, b protoreflect.FieldDescriptor) bool {
	return a.Kind() == b.Kind() && a.Message() == b.Message() && a.Enum() == b.Enum() && a.Cardinality() == b.Cardinality()
}

func differ(seen []protoreflect.Message, a, b protoreflect.FieldDescriptor) bool {
	for _, m := range seen {
		if m.Has(a) != m.Has(b) || !m.Get(a).Equal(m.Get(b)) {
			return true
		}
	}
	return false
}
