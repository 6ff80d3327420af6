package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/weft-hpc/weft/core"
)

// Record is one durable fact; a later one in the same Slot replaces an earlier one. Stores encode records by type.
type Record interface {
	Slot() Slot
}

// Slot is where a record lies: a store keeps one record a slot.
type Slot struct {
	Table  Table
	Serial uint64
	Name   string
}

// Compare orders slots as a store loads them: by table, serial and name.
func (s Slot) Compare(o Slot) int {
	return cmp.Or(cmp.Compare(s.Table, o.Table), cmp.Compare(s.Serial, o.Serial), cmp.Compare(s.Name, o.Name))
}

// Table groups records of a type. A store loads tables in this order.
type Table uint8

// The tables.
const (
	TableMeta Table = iota + 1
	TableText
	TableNode
	TableReservation
	TableTransition
	TableJoin
	TableTombstone
)

// Store keeps records. Load tells all, table by table. Commit writes all of them or none and returns when they are durable; it is fenced: a store that is
// no longer this process's refuses. Without records it finds whether the store could be written.
type Store interface {
	Load(ctx context.Context, tell func(Record) error) error
	Commit(ctx context.Context, records []Record) error
	Close() error
}

// Meta is the store's own record, written with every commit.
type Meta struct {
	Head       core.Head
	Serial     uint64    // the newest reservation's
	Recovering time.Time // since when nothing is granted until all nodes have reported; zero: not
	Without    []string  // nodes that an administrator said not to wait for
	Cursors    []Cursor  // where each pool goes on, so that reuse comes late across restarts too

	Past        []Past // earlier incarnations by their epoch, at most MaxPast
	Unwitnessed bool   // Recovering has no other cause than that nothing outside the store vouched for it
	New         bool   // Recovering has no other cause than that the store was made
}

// Past is an incarnation that was before, or that somebody saw of a lost past, and the highest revision known of it.
type Past struct {
	Incarnation uint64
	Epoch       uint64
	Revision    uint64
}

// Cursor is the VNI that a pool gave last.
type Cursor struct {
	Pool string
	VNI  core.VNI
}

// Text is a policy that a live reservation was decided by.
type Text struct {
	Hash string
	Text string
}

// Node is what is known of a node durably.
type Node struct {
	Name      string
	Boot      string
	Retired   []string // earlier boot ids, newest last, at most MaxRetired: one that comes again is of a second host
	Inventory []string // accepted NICs
	Drained   string   // why; empty: in service
	From      string   // the address of its newest session; empty: not known
	Hardware  string   // as in core.Report, of the host that its joins are on; empty: not known
	Twin      Twin
	Fault     string // why it should take no job, as it told while it had two hosts
	DrainedBy string // the person of Drained; empty: Weft
	DrainedAt time.Time
	Words     uint64   // how often Drained has changed
	Agreed    []string // schedulers that have shown the newest of them, sorted
	Beyond    []string // NICs outside Inventory on which unknown services were seen, while one of them is held
}

// Drain is why the node is out of service.
func (n *Node) Drain() core.Drain {
	if n.Drained == "" {
		return core.Drain{}
	}
	d := core.Drain{Reason: n.Drained, By: n.DrainedBy}
	if !n.DrainedAt.IsZero() {
		d.Since = n.DrainedAt.Unix()
	}
	return d
}

// Twin says that two hosts have a node's certificate, as it was first seen.
type Twin struct {
	Since time.Time // zero: one host has it
	Here  Host      // which had the session
	There Host      // which came
}

// Host is one of a Twin.
type Host struct {
	From  string // address; empty: not known
	Boot  string
	Agent string // as in core.Report
}

// Reservation is one run's hold on its VNIs. It is written once; what changes lies in Phase and Join.
type Reservation struct {
	Serial  uint64
	Job     core.Job // its facts
	VNIs    []Taken
	Grant   Decision // what it was granted by; Deny is nil, Warnings are the job's
	Made    time.Time
	First   Join // the first node
	Adopted bool // not granted here: found on nodes after a store was lost
	Unknown bool // services without any record; only an administrator removes them
}

// Taken is a VNI of a reservation, and the pool it returns to.
type Taken struct {
	VNI  core.VNI
	Pool string // empty: of no pool
	Name string
}

// VNIsOf are the VNIs alone, in their order.
func VNIsOf(taken []Taken) []core.VNI {
	if len(taken) == 0 {
		return nil
	}
	out := make([]core.VNI, len(taken))
	for i, t := range taken {
		out[i] = t.VNI
	}
	return out
}

// Transition is where a reservation stands.
type Transition struct {
	Serial uint64
	State  State
	Since  time.Time
	Why    string
	By     string // the node whose half of a scheduler said that the job is gone; empty: more is known, or it is not gone
	Steps  []Draw // that live, in the order they began
}

// Draw is a step that uses a VNI of its own, or shares the job's: the same on all its nodes.
type Draw struct {
	Step    string
	VNI     core.VNI // one of the reservation's; 0: it shares the job's
	Nodes   int      // how many it has; it is over when as many have said so
	Jobs    []string // ids under which its nodes asked, sorted: a het job's components have one each
	Refused bool     // it found none, and may not share
}

// State of a reservation.
type State uint8

// The states. Held is a draining one that waits for a node that is busy or out of contact for too long.
const (
	Active State = iota + 1
	Draining
	Held
	Quarantined
)

func (s State) String() string {
	return [...]string{"none", "active", "draining", "held", "quarantined"}[min(int(s), 4)]
}

// Join is one node of a reservation. Clean: it has confirmed that no service is left, or has rebooted since.
type Join struct {
	Serial uint64
	Node   string
	Boot   string
	Clean  bool
}

// Tombstone remembers a run that is over, so that a late prepare of it gets nothing. At most MaxTombstones are kept.
type Tombstone struct {
	Serial uint64
	Run    core.Run
}

// Delete empties a slot. For a reservation, its Phase, Joins go with it.
type Delete struct {
	At Slot
}

// Bounds of what is remembered.
const (
	MaxRetired    = 8
	MaxTombstones = 65536
	MaxPast       = 128
)

// Slot is where the store keeps it.
func (Meta) Slot() Slot { return Slot{Table: TableMeta} }

// Slot is where the store keeps it.
func (r Text) Slot() Slot { return Slot{Table: TableText, Name: r.Hash} }

// Slot is where the store keeps it.
func (n Node) Slot() Slot { return Slot{Table: TableNode, Name: n.Name} }

// Slot is where the store keeps it.
func (r Reservation) Slot() Slot { return Slot{Table: TableReservation, Serial: r.Serial} }

// Slot is where the store keeps it.
func (r Transition) Slot() Slot { return Slot{Table: TableTransition, Serial: r.Serial} }

// Slot is where the store keeps it.
func (r Join) Slot() Slot { return Slot{Table: TableJoin, Serial: r.Serial, Name: r.Node} }

// Slot is where the store keeps it.
func (r Tombstone) Slot() Slot { return Slot{Table: TableTombstone, Serial: r.Serial} }

// Slot is where the store keeps it.
func (r Delete) Slot() Slot { return r.At }
