package record

import (
	"fmt"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// Checker takes all records of a store, in the order of Load, and tells the faults between them.
type Checker struct {
	Tell func(error)

	last   engine.Slot
	meta   engine.Meta
	graves int
	live   map[uint64]bool // serials of reservations
}

func (c *Checker) fault(r engine.Record, format string, args ...any) {
	c.Tell(core.Errorf(core.StoreCorrupt, "%s: "+format, append([]any{SlotName(r.Slot())}, args...)...))
}

// SlotName is a record's name for people.
func SlotName(at engine.Slot) string {
	name := TableName(at.Table)
	if at.Serial != 0 {
		name += fmt.Sprintf(" %d", at.Serial)
	}
	if at.Name != "" {
		name += fmt.Sprintf(" %q", core.Clip(at.Name))
	}
	return name
}

// Take takes the next record.
func (c *Checker) Take(r engine.Record) {
	if c.live == nil {
		c.live = map[uint64]bool{}
	}
	at := r.Slot()
	if at.Compare(c.last) <= 0 {
		c.fault(r, "it comes twice, or out of order")
	}
	c.last = at
	if at.Serial > c.meta.Serial {
		c.fault(r, "its serial is higher than %d, the highest that was given", c.meta.Serial)
	}
	switch r := r.(type) {
	case engine.Meta:
		c.meta = r
		if n := len(r.Head.Store); n == 0 || n > MaxStore {
			c.fault(r, "the store's id has %d bytes", n)
		}
		if len(r.Past) > engine.MaxPast {
			c.fault(r, "it remembers %d incarnations, and %d at most", len(r.Past), engine.MaxPast)
		}
	case engine.Reservation:
		c.live[r.Serial] = true
		if r.First.Serial != r.Serial {
			c.fault(r, "its first node is of reservation %d", r.First.Serial)
		}
	case engine.Transition:
		if c.owned(r, r.Serial); r.State < engine.Active || r.State > engine.Quarantined {
			c.fault(r, "its state is %d", r.State)
		}
	case engine.Join:
		c.owned(r, r.Serial)
	case engine.Tombstone:
		if c.graves++; c.graves == engine.MaxTombstones+1 {
			c.fault(r, "there are more than %d of its kind", engine.MaxTombstones)
		}
	}
}

// owned finds the reservation of a phase or join.
func (c *Checker) owned(r engine.Record, serial uint64) {
	if !c.live[serial] {
		c.fault(r, "its reservation is missing")
	}
}

// End is called behind the last record.
func (c *Checker) End() {
	if c.last != (engine.Slot{}) && c.meta.Head.Store == "" {
		c.Tell(core.Errorf(core.StoreCorrupt, "its meta record is missing"))
	}
}
