package record

import (
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// MaxStore bounds a store's id, in bytes.
const MaxStore = 128

// Fence says whether a store at head may take a batch, and the head it then has. A batch carries the store's own Meta, whose last one must be of the same
// store and epoch, or a later epoch, with a higher revision: a writer that another has overtaken is refused, whatever it believes of itself. A store
// without Meta has the zero Head and takes any. Check is made of each record too.
func Fence(head core.Head, batch []engine.Record) (core.Head, error) {
	var next *engine.Meta
	for _, r := range batch {
		if err := Check(r); err != nil {
			return head, err
		}
		if m, ok := r.(engine.Meta); ok {
			next = &m
		}
	}
	switch {
	case next == nil:
		return head, core.Errorf(core.InternalFault, "store: commit of %d records: none of them is the store's own Meta", len(batch))
	case next.Head.Store == "" || len(next.Head.Store) > MaxStore:
		return head, core.Errorf(core.InternalFault, "store: commit: its Meta names the store %q, which must have 1 to %d bytes", core.Clip(next.Head.Store), MaxStore)
	case head.Store == "":
		return next.Head, nil
	case next.Head.Store != head.Store:
		return head, core.Errorf(core.StoreFailed, "store: commit: it is for store %q, but this is %q", core.Clip(next.Head.Store), core.Clip(head.Store))
	case next.Head.Epoch < head.Epoch || next.Head.Revision <= head.Revision:
		return head, core.Errorf(core.StoreFailed, "store: commit of epoch %d revision %d: the store is at epoch %d revision %d already, so another has written since",
			next.Head.Epoch, next.Head.Revision, head.Epoch, head.Revision).WithRemedy("see which other process uses this store")
	}
	return next.Head, nil
}

// Check refuses what no store can keep: a record of a type that is not engine's, a pointer to one, or a Delete of nothing or of the Meta.
func Check(r engine.Record) error {
	switch r := r.(type) {
	case engine.Meta, engine.Text, engine.Node, engine.Reservation, engine.Transition, engine.Join, engine.Tombstone:
		return nil
	case engine.Delete:
		if r.At.Table > engine.TableMeta && r.At.Table <= engine.TableTombstone {
			return nil
		}
		return core.Errorf(core.InternalFault, "store: Delete in table %d: nothing there can be deleted", r.At.Table)
	}
	return core.Errorf(core.InternalFault, "store: record of type %T: no store can keep it", r)
}
