// Package fulltest fills values for tests of forms: a field that a form loses or exchanges shows, a new one too.
package fulltest

import (
	"fmt"
	"reflect"
	"time"
)

// Source gives the values that Fill puts into fields. bits is the size of the number, Len the length of a slice.
// Bool also says whether a pointer points to something.
type Source interface {
	Uint(bits int) uint64
	Int(bits int) int64
	String() string
	Len() int
	Bool() bool
}

// Value has no zero field. Its values differ from each other where their type has room; numbers with a sign are
// negative, and slices have two elements.
func Value[T any]() T {
	var v T
	Fill(reflect.ValueOf(&v).Elem(), new(Counting))
	return v
}

var timeType = reflect.TypeFor[time.Time]()

// Fill sets every exported field of v, however deep. It panics at a map, an interface or a function.
func Fill(v reflect.Value, from Source) {
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
			Fill(v.Index(i), from)
		}
	case reflect.Array:
		for i := range v.Len() {
			Fill(v.Index(i), from)
		}
	case reflect.Pointer:
		v.SetZero()
		if from.Bool() {
			v.Set(reflect.New(v.Type().Elem()))
			Fill(v.Elem(), from)
		}
	case reflect.Struct:
		if v.Type() == timeType {
			v.Set(reflect.ValueOf(time.Unix(from.Int(34), int64(from.Uint(29))).UTC()))
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				Fill(v.Field(i), from)
			}
		}
	default:
		panic(fmt.Sprintf("a field is a %s, which no form can hold", v.Type()))
	}
}

// Counting is the Source of Value.
type Counting struct{ n uint64 }

func (c *Counting) next() uint64         { c.n++; return c.n }
func (c *Counting) Uint(bits int) uint64 { return c.next()%(1<<min(bits, 62)-1) + 1 }
func (c *Counting) Int(bits int) int64   { return -int64(c.Uint(bits - 1)) }
func (c *Counting) String() string       { return fmt.Sprint("s", c.next()) }
func (c *Counting) Len() int             { return 2 }
func (c *Counting) Bool() bool           { return true }
