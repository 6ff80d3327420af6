package rpc

import (
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/dev/fulltest"
)

// Bounds of the messages that a release mark keeps.
const (
	examples   = 4    // of a type
	maxExample = 1000 // bytes
)

// released reads the messages of each release: this release takes them, and reads the same values.
func released[D any, P proto.Message](
	t *testing.T, r *fulltest.Released, gen *rapid.Generator[D],
	encode func(D) P, empty func() P, decode func(*decoder, P) D,
) {
	t.Helper()
	of := filepath.Base(t.Name())
	r.Check(of, func(wire []byte) (any, error) {
		m := empty()
		if err := proto.Unmarshal(wire, m); err != nil {
			return nil, err
		}
		d := &decoder{}
		if v := decode(d, m); d.err == nil {
			return v, nil
		}
		return nil, d.err
	})
	for seed, n := 0, 0; r.Making() && n < examples && seed < 100; seed++ {
		value := gen.Example(seed)
		wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(encode(value))
		if err != nil {
			t.Fatal(err)
		}
		if len(wire) > 0 && len(wire) <= maxExample {
			r.Make(of, wire, value)
			n++
		}
	}
}
