package engine

import "github.com/weft-hpc/weft/core"

// Action is something to do, after the Step's records are durable.
type Action interface{ action() }

// Granted ends a Reserve. The server sets Grant.Head to the machine's when it acts.
type Granted struct {
	Call  uint64
	Grant core.Grant
	First bool // it made the run's reservation: true of one node of the run, ever

	// Degraded says that this made a reservation without VNIs, of a job that should have some: it runs without isolation.
	Degraded bool
}

// Refused ends a Reserve.
type Refused struct {
	Call uint64
	Err  *core.Error
}

// Describe asks the scheduler about the job of a Reserve, and policy of the answer.
type Describe struct{ Call uint64 }

// Order sends orders to a node's session.
type Order struct {
	Node    string
	Session uint64
	Orders  core.Orders
}

// End ends a node's session: its agent begins the next with a full report.
type End struct {
	Node    string
	Session uint64
}

// Fail tells a scheduler that a job cannot have what it asked for.
type Fail struct {
	Key    core.Key
	Reason string
	Again  bool // it is of scope system: the job may have it later, and may go back into the queue
}

// Over tells that a job went beyond a quota. With EnforceDeny it is refused.
type Over struct {
	Key     core.Key
	Quota   string
	Enforce Enforce
}

// Drain takes a node out of service in a scheduler, or in every one that lists it.
type Drain struct {
	Node      string
	Reason    string
	Scheduler string // empty: every one
}

// Spare tells why a node would be taken out of service, if jobs on it were served.
type Spare struct {
	Node   string
	Reason string
}

// Resume takes a node back into service in a scheduler, or in every one that Drain was told of it.
type Resume struct {
	Node      string
	Scheduler string // empty: every one
}

// Done ends an operator's call. Count is how many reservations it touched.
type Done struct {
	Call  uint64
	Count int
	Err   *core.Error
}

// Say is a line for the log, and for the audit when it is about a grant, a deny or an operator's word.
type Say struct {
	Level Level
	Run   core.Run
	Node  string
	VNIs  []core.VNI
	Text  string
}

// Level of a line.
type Level uint8

// Levels of lines.
const (
	Info Level = iota
	Warn
	Alarm
)

// Drew is for the audit: a step has drawn a VNI, or its VNI is its job's again.
type Drew struct {
	Step core.StepID
	Node string // which asked, or said so last
	VNI  core.VNI
	Over bool
}

func (Granted) action()  {}
func (Refused) action()  {}
func (Describe) action() {}
func (Order) action()    {}
func (End) action()      {}
func (Fail) action()     {}
func (Over) action()     {}
func (Drain) action()    {}
func (Resume) action()   {}
func (Spare) action()    {}
func (Done) action()     {}
func (Say) action()      {}
func (Drew) action()     {}
