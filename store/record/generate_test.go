package record_test

import (
	"reflect"

	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/dev/fulltest"
)

// zeros are a zero record of each type that a store keeps.
func zeros() []engine.Record {
	return []engine.Record{
		engine.Meta{}, engine.Text{}, engine.Node{}, engine.Reservation{}, engine.Transition{}, engine.Join{},
		engine.Tombstone{},
	}
}

// drawn is a fulltest.Source that rapid draws from, and shrinks.
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
func full(zero engine.Record) engine.Record { return filled(zero, new(fulltest.Counting)) }

// random draws a record of any type, with any content.
func random(t *rapid.T) engine.Record {
	return filled(rapid.SampledFrom(zeros()).Draw(t, "type"), drawn{t})
}

func filled(zero engine.Record, from fulltest.Source) engine.Record {
	v := reflect.New(reflect.TypeOf(zero)).Elem()
	fulltest.Fill(v, from)
	return v.Interface().(engine.Record)
}
