package node

import (
	"context"
	"fmt"

	"github.com/weft-hpc/weft/core"
)

// Record is one durable fact of a node; a later one of the same Name replaces it. They lie under the run directory and die with the boot, as services do.
type Record interface {
	Name() string
}

// Store keeps a node's records. Commit writes all or none, and returns when a killed process would find them. Without records it
// finds whether the store could be written.
type Store interface {
	Load(ctx context.Context, tell func(Record) error) error
	Commit(ctx context.Context, records []Record) error
	Close() error
}

// State is how far a run is on this node.
type State uint8

// The phases of a run.
const (
	Asking   State = iota + 1 // the server is asked; nothing is on a NIC
	Making                    // Specs are, or may be, on the NICs
	Ready                     // Services stand
	Cleaning                  // being removed
	Clean                     // a reading proved it; kept until an order says that the server knows
)

func (p State) String() string {
	return [...]string{"none", "asking", "making", "ready", "cleaning", "clean"}[min(int(p), 5)]
}

// Entry is a run on this node. It is first written with its Specs, before the first NIC call, or when its cleaning begins: before that nothing of it is
// on a NIC, who waits for it dies with the process, and the server's own order cleans what the server holds. So phase Asking is in no record.
type Entry struct {
	ID       uint64 // this node's own number for it
	Key      core.Key
	UID      uint32 // as the hook said; the grant's once there is one
	Began    int64  // CLOCK_BOOTTIME of its prepare, ns
	State    State
	Grant    core.Grant // from Making on; its Run is the entry's
	Specs    []core.ServiceSpec
	Places   []Place // the NICs of Specs, as they were then; none in a record of an older release
	Services []core.Service
	Warnings []string
	Why      string // Cleaning: why it is cleaned
}

// Place is a NIC as its driver knew it.
type Place struct {
	Device string
	Bus    string
	Probed string
	Sign   core.Sign
}

// Tombstone remembers a run that is over on this node, so that a late prepare of it is refused. At most MaxTombstones are kept, the oldest go first.
type Tombstone struct {
	ID  uint64
	Run core.Run
}

// Step is a step on this node that asked for a VNI of its own. It is written before the server is asked, where the run is
// known by then, so that its end is told whatever becomes of the answer.
type Step struct {
	Entry   uint64 // the ID of its run's
	ID      core.StepID
	Nodes   int // how many nodes it has
	Known   bool
	VNI     core.VNI // once Known; 0: it shares the job's
	Keepers []Keeper
	Over    bool // kept until the server knows
}

// Keeper is a process that lives as long as its step does on this node. No other process has both numbers in one boot.
type Keeper struct {
	PID   int32
	Start uint64 // ticks since boot
}

// Seen is the highest head this node has seen, and the last ID it gave.
type Seen struct {
	Head core.Head
	ID   uint64
}

// Delete removes the record of that name.
type Delete struct{ Of string }

// MaxTombstones bounds the tombstones of a node.
const MaxTombstones = 4096

// Name of the record.
func (e Entry) Name() string { return fmt.Sprintf("entry/%016x", e.ID) }

// Name of the record.
func (t Tombstone) Name() string { return fmt.Sprintf("tombstone/%016x", t.ID) }

// Name of the record.
func (s Step) Name() string { return fmt.Sprintf("step/%016x/%s", s.Entry, s.ID.Step) }

// Name of the record.
func (Seen) Name() string { return "seen" }

// Name of the record that goes.
func (d Delete) Name() string { return d.Of }
