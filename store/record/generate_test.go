package record_test

import (
	"fmt"
	"reflect"
	"time"

	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core/engine"
)

// zeros are a zero record of each type that a store keeps.
func zeros() []engine.Record {
	return []engine.Record{
		engine.Meta{}, engine.Text{}, engine.Node{}, engine.Reservation{}, engine.Transition{}, engine.Join{},
		engine.Tombstone{},
	}
}

// source gives the values that fill puts into fields.
type source interface {
	Uint(bits int) uint64
	Int(bits int) int64
	String() string
	Len() int
	Bool() bool
}

var timeType = reflect.TypeFor[time.Time]()

// fill sets every exported field of v, however deep: a field that is added to a record is filled without a change here.
func fill(v reflect.Value, from source, path string) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(from.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(from.Int(v.Type().Bits()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(from.Uint(v.Type().Bits()))
	case reflect.String:
		v.SetString(from.String())
	case reflect.Slice:
		n := from.Len()
		v.SetZero()
		if n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
		}
		for i := range n {
			fill(v.Index(i), from, fmt.Sprintf("%s[%d]", path, i))
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), from, fmt.Sprintf("%s[%d]", path, i))
		}
	case reflect.Pointer:
		v.SetZero()
		if from.Bool() {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), from, path)
		}
	case reflect.Struct:
		if v.Type() == timeType {
			v.Set(reflect.ValueOf(time.Unix(from.Int(34), int64(from.Uint(29))).UTC()))
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				fill(v.Field(i), from, path+"."+f.Name)
			}
		}
	default:
		panic(fmt.Sprintf("%s is a %s, which no record can hold", path, v.Type()))
	}
}

// counting is a source of values that are all different from zero and, where their type has room, from each other.
type counting struct{ n uint64 }

func (c *counting) next() uint64         { c.n++; return c.n }
func (c *counting) Uint(bits int) uint64 { return c.next()%(1<<min(bits, 62)-1) + 1 }
func (c *counting) Int(bits int) int64   { return -int64(c.Uint(bits - 1)) }
func (c *counting) String() string       { return fmt.Sprint("s", c.next()) }
func (c *counting) Len() int             { return 2 }
func (c *counting) Bool() bool           { return true }

// drawn is a source that rapid draws from, and shrinks.
type drawn struct{ t *rapid.T }

var (
	words = rapid.OneOf(
		rapid.SampledFrom([]string{"", "a", "b", "jobs", "n001", "tioga"}),
		rapid.String(),
		rapid.StringN(60, 70, -1),
		rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "bytes")) }),
	)
	lengths = rapid.SampledFrom([]int{0, 0, 1, 2, 3})
)

func (d drawn) Uint(bits int) uint64 { return rapid.Uint64().Draw(d.t, "uint") >> (64 - bits) }
func (d drawn) Int(bits int) int64   { return rapid.Int64().Draw(d.t, "int") >> (64 - bits) }
func (d drawn) String() string       { return words.Draw(d.t, "string") }
func (d drawn) Len() int             { return lengths.Draw(d.t, "len") }
func (d drawn) Bool() bool           { return rapid.Bool().Draw(d.t, "bool") }

// full is a record without a zero field.
func full(zero engine.Record) engine.Record { return filled(zero, new(counting)) }

// random draws a record of any type, with any content.
func random(t *rapid.T) engine.Record {
	return filled(rapid.SampledFrom(zeros()).Draw(t, "type"), drawn{t})
}

func filled(zero engine.Record, from source) engine.Record {
	v := reflect.New(reflect.TypeOf(zero)).Elem()
	fill(v, from, v.Type().String())
	return v.Interface().(engine.Record)
}
