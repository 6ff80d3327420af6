package core

// Report is what a node's agent tells the server. The first of a session is full; later ones hold what changed since.
type Report struct {
	Number  uint64 // from 1 in each session; a repeated or older one is ignored
	Boot    string // the node's boot id
	Seen    Head   // the highest head this node has seen
	Full    bool
	First   bool            // the agent's first start in this boot, and not all schedulers have told which jobs ran then, or such a job may be over meanwhile: the server is to tell; Full, or with nothing else and no Number
	Devices []string        // the NICs that are there; Full, or with Changed
	Held    []Held          // every run this node holds (Full), or those that changed
	Blind   []string        // those of Devices that could not be read: what stands there is not in Unknown; Full, or with Changed
	Unknown []Service       // services with no record that are neither system nor default; Full, or with Changed
	Changed bool            // Devices, Blind and Unknown are given
	Fault   string          // why the node should take no job; empty: nothing new
	Epilogs []JobID         // jobs that a clean-up hook was seen for since the last report
	Answer  *Forward        // what a Watch on this node told; such a report has no Number and nothing else
	Reply   *SchedulerReply // what came of one of Orders.Calls; such a report has no Number and nothing else
}

// Forward is what the Watch of a scheduler's half on a node told. The agent sends Asking and waits for Orders.Heard before the question leaves, so that the
// server never takes an answer for younger than it is.
type Forward struct {
	Scheduler string
	Ask       uint64 // numbers the question in its session
	Jobs      Jobs
}

// HeldState is how far a node is with a run.
type HeldState uint8

// States of a run on a node.
const (
	HeldPreparing HeldState = iota + 1 // asked for, or services in the making
	HeldReady                          // services stand
	HeldCleaning                       // services are being removed
	HeldBusy                           // as HeldCleaning, but the NIC says busy for longer than a moment
	HeldClean                          // none left; kept until an order acknowledges it
)

func (s HeldState) String() string {
	return [...]string{"none", "preparing", "ready", "cleaning", "busy", "clean"}[min(int(s), 5)]
}

// Held is one run as the node holds it.
type Held struct {
	Run
	GID      uint32
	VNIs     []VNI
	State    HeldState
	Services []Service
	Why      string // what a cleaning waits for
}

// Orders are what the server wants of a node. They name generations and are repeated until they are done.
type Orders struct {
	Head   Head
	Clean  []Clean         // remove and confirm, even where nothing is held
	Heard  uint64          // the newest Forward.Ask that the server has noted
	Forget []Run           // confirmed clean, and known durably: the record may go
	Calls  []SchedulerCall // of a scheduler's half on this node; unlike the rest they are not repeated
	Ran    []Ran           // to a node whose report was First; it is told once, and again when it asks again

	Inventory []string // the node's accepted NICs, after a full report and when they have changed; empty: nothing new
}

// MaxRan bounds the jobs of a Ran.
const MaxRan = 1024

// Ran is what a scheduler has on the node by a complete answer that was begun after the node's First report. What runs without a record there ran before Weft.
type Ran struct {
	Scheduler string
	Jobs      []JobStatus // all JobRunning, without Hosts
	Whole     bool        // none is left out that has no reservation: what Jobs lacks does not run there without one
}

// Clean orders that nothing of Run be left. VNIs and UID let a node whose own record is lost see whether its NICs are clean of it.
type Clean struct {
	Run
	VNIs []VNI
}
