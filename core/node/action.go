package node

import (
	"time"

	"github.com/weft-hpc/weft/core"
)

// Action is something to do, after the Step's records are durable. An Origin is the id of the hook's call that it is for, for logs; empty: it is for none.
type Action interface{ action() }

// Reserve asks the Authority for the grant; Reserved answers, at Until with an error.
type Reserve struct {
	Attempt Attempt
	Ask     core.Intent
	Peer    core.Peer
	Until   time.Duration // Moment.Uptime when the hook's patience ends
}

// Look reads devices and services; Read answers.
type Look struct {
	Attempt Attempt
	Run     core.Run // zero: all that is on the NICs
	Origin  string
}

// Witness reads which services applications use, and which VNIs the processes of these users have in their
// environment; Witnessed answers.
type Witness struct {
	Attempt Attempt
	UIDs    []uint32
}

// Create makes services; Made answers.
type Create struct {
	Attempt Attempt
	Run     core.Run
	Origin  string
	Specs   []core.ServiceSpec
}

// Destroy removes services; Removed answers.
type Destroy struct {
	Attempt  Attempt
	Run      core.Run
	Origin   string
	Services []core.Service
}

// Reply ends a Hook call.
type Reply struct {
	Call    uint64
	Outcome core.Outcome
}

// Tell sends a report in the present session.
type Tell struct{ Report core.Report }

// Publish leaves the job's environment in a file that only its owner can read; it comes before the Reply of the prepare.
type Publish struct {
	Run         core.Run
	GID         uint32
	Environment []core.Variable
	Signs       []core.Sign // while they hold, the services stand
	Warnings    []string    // for the job's owner
	Stepped     bool        // steps of it may have VNIs of their own, which Environment does not show
}

// Withdraw removes that file.
type Withdraw struct{ Run core.Run }

// Drain takes this node out of service through the schedulers' adapters of this node, and by the report's Fault through the server.
type Drain struct{ Reason string }

// Short says that a run is ready with less than its grant, or on NICs with a fault.
type Short struct {
	Run      core.Run
	Origin   string
	Warnings []string
}

// Say is a line for the log.
type Say struct {
	Bad    bool // a warning rather than a notice
	Run    core.Run
	Origin string
	Text   string
}

func (Reserve) action()  {}
func (Look) action()     {}
func (Witness) action()  {}
func (Create) action()   {}
func (Destroy) action()  {}
func (Reply) action()    {}
func (Tell) action()     {}
func (Publish) action()  {}
func (Withdraw) action() {}
func (Drain) action()    {}
func (Say) action()      {}
func (Short) action()    {}
