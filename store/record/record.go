package record

import (
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// Versions of the form. A change that an older release would misread raises Version; Oldest follows one behind. A new optional field is no such change: it
// is a fact.
const (
	Version = 1
	Oldest  = 1
)

// MaxSize bounds one encoded record, in bytes.
const MaxSize = 16 << 20

// Append encodes a record behind dst. It refuses what Check refuses, a Delete, and what is larger than MaxSize.
func Append(dst []byte, r engine.Record) ([]byte, error) {
	if err := Check(r); err != nil {
		return dst, err
	}
	at := r.Slot()
	c := coder{out: append(dst, Version, byte(at.Table))}
	switch r := r.(type) {
	case engine.Meta:
		meta(&c, &r)
	case engine.Text:
		text(&c, &r)
	case engine.Node:
		node(&c, &r)
	case engine.Reservation:
		reservation(&c, &r)
	case engine.Transition:
		phase(&c, &r)
	case engine.Join:
		join(&c, &r)
	case engine.Tombstone:
		tombstone(&c, &r)
	default:
		return dst, core.Errorf(core.InternalFault, "store: record of type %T: it has no form as bytes", r)
	}
	out := attach(c.out, len(dst), c.grown)
	if size := len(out) - len(dst); size > MaxSize {
		return dst, core.Errorf(core.StoreFailed, "store: record %s %d %q: its %d bytes are more than the %d that a record may have", TableName(at.Table), at.Serial, core.Clip(at.Name), size, MaxSize)
	}
	return out, nil
}

// A Decoder reads records. It makes equal short strings one, since 60,000 reservations name the same few pools, queues and rules. Not for concurrent use.
type Decoder struct {
	c           coder
	meta        engine.Meta
	text        engine.Text
	node        engine.Node
	reservation engine.Reservation
	phase       engine.Transition
	join        engine.Join
	tombstone   engine.Tombstone
}

// Decode reads one record. The error is core.StoreNewer or core.StoreCorrupt. The bytes are not kept. It allocates in proportion to their number,
// whatever they say.
func (d *Decoder) Decode(b []byte) (engine.Record, error) {
	table, err := Peek(b)
	if err != nil {
		return nil, err
	}
	c := &d.c
	if c.names == nil {
		c.names = make(map[string]string)
	}
	fields, facts, ok := split(b)
	*c = coder{reads: true, in: fields, facts: facts, names: c.names}
	if !ok {
		c.fail("its facts are cut short")
	}
	var r engine.Record
	switch table {
	case engine.TableMeta:
		r = read(c, &d.meta, meta)
	case engine.TableText:
		r = read(c, &d.text, text)
	case engine.TableNode:
		r = read(c, &d.node, node)
	case engine.TableReservation:
		r = read(c, &d.reservation, reservation)
	case engine.TableTransition:
		r = read(c, &d.phase, phase)
	case engine.TableJoin:
		r = read(c, &d.join, join)
	case engine.TableTombstone:
		r = read(c, &d.tombstone, tombstone)
	}
	c.end()
	if c.bad != "" {
		return nil, core.Errorf(core.StoreCorrupt, "store: %s record of %d bytes: %s", TableName(table), len(b), c.bad)
	}
	return r, nil
}

// Peek reads a record's table without the rest, and checks its version.
func Peek(b []byte) (engine.Table, error) {
	switch {
	case len(b) < 2 || b[0] < Oldest || len(b) > MaxSize:
		return 0, core.Errorf(core.StoreCorrupt, "store: record of %d bytes: it is none", len(b))
	case b[0] > Version:
		return 0, core.Errorf(core.StoreNewer, "store: record of version %d: this release reads versions %d to %d", b[0], Oldest, Version)
	}
	table := engine.Table(b[1] &^ grown)
	if table < engine.TableMeta || table > engine.TableTombstone {
		return 0, core.Errorf(core.StoreCorrupt, "store: record of table %d: there is no such table", b[1])
	}
	return table, nil
}

// TableName is a table's name for people and files.
func TableName(t engine.Table) string {
	names := [...]string{"none", "meta", "text", "node", "reservation", "phase", "join", "tombstone"}
	if int(t) >= len(names) {
		return names[0]
	}
	return names[t]
}

// read fills a place that is used again and again; what is returned is a copy, and shares nothing with it.
func read[T engine.Record](c *coder, place *T, form func(*coder, *T)) engine.Record {
	var zero T
	form(c, place)
	r := *place
	*place = zero
	return r
}
