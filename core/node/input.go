package node

import (
	"time"

	"github.com/weft-hpc/weft/core"
)

// Input is something that happened.
type Input interface{ input() }

// Attempt numbers an action whose result comes back as an input; a result of an attempt that is no longer awaited is only looked at for what it left.
type Attempt uint64

// Hook is a call of a scheduler's hook, already parsed. It gets exactly one Reply, at Until at the latest.
type Hook struct {
	Call   uint64
	Ask    core.Intent
	Peer   core.Peer
	Until  time.Duration // Moment.Uptime when the scheduler's patience ends
	Doubt  bool          // of an Environment: one of Machine.Signs does not hold any more
	Keeper Keeper        // of a step's Prepare or StepEnd: the process that lives as long as the step
}

// Reserved answers Reserve.
type Reserved struct {
	Attempt Attempt
	Grant   core.Grant
	Err     *core.Error
}

// Read answers Look. It shows the NICs at some time after Look was done.
type Read struct {
	Attempt  Attempt
	Devices  []core.Device
	Services []core.Service
	Err      *core.Error
}

// Process is a user's process with the variables of a job.
type Process struct {
	UID  uint32
	VNIs string // its SLINGSHOT_VNIS
}

// Witnessed answers Witness, by a reading that began after it.
type Witnessed struct {
	Attempt   Attempt
	Processes []Process
	Services  []core.Service
	Err       *core.Error // why something could not be read; the rest was
}

// Made answers Create, and comes only when the driver's call has ended for good (returned, or its process is dead): whatever it made is on the NIC by then.
type Made struct {
	Attempt Attempt
	Results []core.Created // one a spec; empty with Err
	Err     *core.Error
}

// Removed answers Destroy, under the same rule as Made.
type Removed struct {
	Attempt Attempt
	Errs    []*core.Error // one a service; nil: gone
	Err     *core.Error
}

// Linked says that a session with the server began (Up) or ended.
type Linked struct{ Up bool }

// Ordered are the server's orders.
type Ordered struct{ Orders core.Orders }

// Reread has the NICs read anew, for the report: somebody saw, or did, what the last reading cannot have shown.
type Reread struct{}

// KeeperGone says that a process of Machine.Keepers has ended.
type KeeperGone struct{ Keeper Keeper }

// Tick lets time pass; the agent sends one about once a second, and at Next.
type Tick struct{}

func (Hook) input()       {}
func (Reserved) input()   {}
func (Read) input()       {}
func (Witnessed) input()  {}
func (Made) input()       {}
func (Removed) input()    {}
func (Linked) input()     {}
func (Ordered) input()    {}
func (Reread) input()     {}
func (KeeperGone) input() {}
func (Tick) input()       {}
