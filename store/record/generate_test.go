package storetest

import (
	"fmt"
	"reflect"
	"time"

	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core/engine"
)

// Zeros are a zero record of each type that a store keeps.
func Zeros() []engine.Record {
	return []engine.Record{
		engine.Meta{}, engine.Text{}, engine.Node{}, engine.Reservation{}, engine.Transition{}, engine.Join{}, engine.Tombstone{},
	}
}

// Source gives the values that Fill puts into fields.
type Source interface {
	Uint(bits int) uint64
	Int(bits int) int64
	String() string
	Len() int
	Bool() bool
}

// Fill sets every exported field of what v points at, however deep, by reflection: a field that is added to a record is filled without a change here.
func Fill(v any, from Source) {
	fill(reflect.ValueOf(v).Elem(), from, reflect.TypeOf(v).Elem().String())
}

var timeType = reflect.TypeFor[time.Time]()

func fill(v reflect.Value, from Source, path string) {
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
		panic(fmt.Sprintf("storetest: %s is a %s, which no record can hold", path, v.Type()))
	}
}

// Counting is a Source of values that are all different from zero and, where their type has room, from each other.
type Counting struct{ n uint64 }

func (c *Counting) next() uint64 { c.n++; return c.n }

// Uint is the next number.
func (c *Counting) Uint(bits int) uint64 { return c.next()%(1<<min(bits, 62)-1) + 1 }

// Int is the next number, negative.
func (c *Counting) Int(bits int) int64 { return -int64(c.Uint(bits - 1)) }

// String is the next number in words.
func (c *Counting) String() string { return fmt.Sprint("s", c.next()) }

// Len is 2.
func (c *Counting) Len() int { return 2 }

// Bool is true.
func (c *Counting) Bool() bool { return true }

// Drawn is a Source that rapid draws from, and shrinks.
type Drawn struct{ T *rapid.T }

var (
	words = rapid.OneOf(
		rapid.SampledFrom([]string{"", "a", "b", "jobs", "n001", "tioga"}),
		rapid.String(),
		rapid.StringN(60, 70, -1),
		rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "bytes")) }),
	)
	lengths = rapid.SampledFrom([]int{0, 0, 1, 2, 3})
)

// Uint is a number of so many bits.
func (d Drawn) Uint(bits int) uint64 { return rapid.Uint64().Draw(d.T, "uint") >> (64 - bits) }

// Int is a number of so many bits.
func (d Drawn) Int(bits int) int64 { return rapid.Int64().Draw(d.T, "int") >> (64 - bits) }

func (d Drawn) String() string { return words.Draw(d.T, "string") }

// Len is small, and often 0.
func (d Drawn) Len() int { return lengths.Draw(d.T, "len") }

// Bool is either.
func (d Drawn) Bool() bool { return rapid.Bool().Draw(d.T, "bool") }

// Record draws a record of any type, with any content.
func Record(t *rapid.T) engine.Record {
	zero := rapid.SampledFrom(Zeros()).Draw(t, "type")
	v := reflect.New(reflect.TypeOf(zero))
	Fill(v.Interface(), Drawn{t})
	return v.Elem().Interface().(engine.Record)
}
