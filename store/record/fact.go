package record

import (
	"encoding/binary"
	"slices"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// newest is the highest number of a fact that this release knows, by table. The numbers of a table rise from 1
// without a gap; none is used twice.
var newest = [engine.TableTombstone + 1]uint64{
	engine.TableMeta: 4, engine.TableNode: 9, engine.TableReservation: 10, engine.TableTransition: 2,
}

// grown marks the table byte of a record that has facts. The last sizeSize bytes are the size of all facts: Keep
// finds them without reading the fields.
const (
	grown    = 0x80
	sizeSize = 4
)

// fact is an optional field that came after version 1. It lies behind its number and its size; a zero one is left out.
// A form calls fact last, in the order of the numbers.
func fact[T any](c *coder, number uint64, v *T, form func(*coder, *T)) {
	if c.reads {
		c.end()
		for len(c.facts) > 0 && c.facts[0].number < number {
			c.facts = c.facts[1:]
		}
		if c.bad == "" && len(c.facts) > 0 && c.facts[0].number == number {
			c.in = c.facts[0].body
			form(c, v)
			c.end()
		}
		return
	}
	fields := c.out
	c.out = nil
	form(c, v)
	// Zero bytes alone mean the zero value in every form.
	if slices.ContainsFunc(c.out, func(b byte) bool { return b != 0 }) {
		c.grown = numbered{number, c.out}.append(c.grown)
	}
	c.out = fields
}

// numbered is a fact as it lies in a record.
type numbered struct {
	number uint64
	body   []byte
}

func (n numbered) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, n.number)
	dst = binary.AppendUvarint(dst, uint64(len(n.body)))
	return append(dst, n.body...)
}

// attach appends facts to the record at the end of dst that begins at start.
func attach(dst []byte, start int, facts []byte) []byte {
	if len(facts) == 0 {
		return dst
	}
	dst[start+1] |= grown
	return binary.BigEndian.AppendUint32(append(dst, facts...), uint32(len(facts)))
}

// split parts a record into its fields and its facts.
func split(rec []byte) (fields []byte, facts []numbered, ok bool) {
	if rec[1]&grown == 0 {
		return rec[2:], nil, true
	}
	end := len(rec) - sizeSize
	if end < 2 {
		return nil, nil, false
	}
	size := binary.BigEndian.Uint32(rec[end:])
	if size == 0 || uint64(size) > uint64(end-2) {
		return nil, nil, false
	}
	start := end - int(size)
	for rest, last := rec[start:end], uint64(0); len(rest) > 0; {
		number, n := binary.Uvarint(rest)
		if n <= 0 || number <= last {
			return nil, nil, false
		}
		last, rest = number, rest[n:]
		length, n := binary.Uvarint(rest)
		if n <= 0 || length > uint64(len(rest)-n) {
			return nil, nil, false
		}
		whole := n + int(length)
		facts, rest = append(facts, numbered{number, rest[n:whole]}), rest[whole:]
	}
	return rec[2:start], facts, true
}

// Keep is rec with those facts of old, the record that it replaces, that only a later release knows; nil if old has
// none. Both are what Append or Keep made. The error is core.StoreFailed for a record that gets larger than MaxSize.
func Keep(rec, old []byte) ([]byte, error) {
	if old[1]&grown == 0 {
		return nil, nil
	}
	_, facts, ok := split(old)
	fields, own, okToo := split(rec)
	if !ok || !okToo {
		return nil, core.Errorf(core.StoreCorrupt, "store: record of %d bytes: its facts are cut short", len(old))
	}
	known := newest[old[1]&^grown]
	facts = slices.DeleteFunc(facts, func(f numbered) bool { return f.number <= known })
	if len(facts) == 0 {
		return nil, nil
	}
	var all []byte
	for _, f := range append(own, facts...) {
		all = f.append(all)
	}
	whole := attach(append(slices.Clone(rec[:2]), fields...), 0, all)
	if len(whole) > MaxSize {
		return nil, core.Errorf(core.StoreFailed,
			"store: record of %d bytes: the facts of a later release make it larger than %d", len(whole), MaxSize)
	}
	return whole, nil
}
