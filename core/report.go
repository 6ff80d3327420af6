package core

// Report is a message of a node's agent to the server. The first of a session is full; later ones hold changes.
type Report struct {
	Number uint64 // from 1 in each session; the server ignores a repeated or older one
	Boot   string // the node's boot id
	Agent  string // a random id of the agent's process, in the first report of a session; empty from an older release
	// Hardware identifies the host's board, in the first report of a session. A copied image lacks it.
	// Empty: not known.
	Hardware string
	From     string // the address that the session comes from; the server's end of the connection sets it
	Seen     Head   // the highest head that this node has seen
	Full     bool
	// First asks the server which jobs ran at the agent's first start in this boot. It stays set until every scheduler has
	// answered, and again while such a job may have ended since. Such a report is Full, or has no Number and nothing else.
	First   bool
	Devices []string // the NICs of the node; Full, or with Changed
	Held    []Held   // every run that this node holds (Full), or those that changed
	// Blind are the Devices that the agent could not read, or whose services it has not judged yet, so that Unknown may
	// lack services of theirs. Full, or with Changed.
	Blind []string
	// Unusable are the Devices that no job can use: at fault, without link or retry handler. Full, or with Changed.
	Unusable []string
	Unknown  []Service // services with no record that are neither system nor default; Full, or with Changed
	Changed  bool      // the report has Devices, Blind, Unusable and Unknown
	// Fault is why the node should take no job; empty: nothing new. While the NICs cannot be read, it begins with
	// UnreadPrefix, and each report that is Full or has Changed repeats it. The first of these without it ends that.
	Fault string
	// Unanswered are the newest absences of the agent in which hooks failed. Such a report is Full, or has no Number and
	// nothing else.
	Unanswered []Unanswered
	Epilogs    []JobID         // jobs whose clean-up hook ran since the last report
	Steps      []StepHeld      // all that the node knows (Full), or those that are over and were not told in this session
	Answer     *Forward        // a message of a Watch on this node; such a report has no Number and nothing else
	Reply      *SchedulerReply // the reply to one of Orders.Calls; such a report has no Number and nothing else
	Told       *NodeReply      // the reply to one of Orders.Asks; such a report has no Number and nothing else
}

// Unanswered says that a scheduler's hooks failed on the node because its agent did not answer. A scheduler may have
// drained the node for that.
type Unanswered struct {
	Scheduler   string
	Why         string // of the first of these hooks; at most 256 bytes
	From, Until int64  // the first and the last of them by the node's clock, in seconds since 1970
}

// MaxUnanswered bounds them.
const MaxUnanswered = 16

// AwayPrefix begins the reason of a drain that is a scheduler's own, since a hook of Weft failed while the agent was
// away. Weft gives the scheduler that reason in place of the one it had. It drains no node for it, but Resume ends
// such a drain.
const AwayPrefix = "its agent did not answer: "

// UnreadPrefix begins the Fault of a node that cannot read its NICs. Such a node is drained until it can.
const UnreadPrefix = "NICs cannot be read: "

// StuckPrefix begins the Fault of a node whose NICs have kept a job's services for too long. Such a node is drained
// until it is clean of that job, or until `weft resume`.
const StuckPrefix = "a job is stuck on its NICs: "

// TwinPrefix begins the reason of a node that is drained while two hosts have its certificate.
const TwinPrefix = "two hosts have its certificate: "

// TwinRemedy ends that.
const TwinRemedy = "stop the agent of the copied host, and give that host another name and certificate; " +
	"when one host is left and this stays for three minutes, `weft resume` the node"

// Forward is a message of a scheduler plugin's Watch on a node. The agent sends Asking and waits for Orders.Heard
// before it asks the scheduler. So the server never takes an answer for newer than it is.
type Forward struct {
	Scheduler string
	Ask       uint64 // the number of the question in its session
	Jobs      Jobs
}

// HeldState is the progress of a run on a node.
type HeldState uint8

// States of a run on a node.
const (
	HeldPreparing HeldState = iota + 1 // requested; the node is creating services
	HeldReady                          // all services exist
	HeldCleaning                       // the node is removing services
	HeldBusy                           // as HeldCleaning, but a NIC has been busy for longer than a moment
	HeldClean                          // no service is left; kept until an order acknowledges it
)

func (s HeldState) String() string {
	return [...]string{"none", "preparing", "ready", "cleaning", "busy", "clean"}[min(int(s), 5)]
}

// Held is one run that a node holds.
type Held struct {
	Run
	GID      uint32
	VNIs     []VNI
	Steps    int // as in Grant
	State    HeldState
	Services []Service
	Why      string   // why a cleaning still waits
	Life     Life     // the answer to Orders.Vouch
	Warnings []string // how the run differs on this node from its grant; NICs with equal texts share a line
}

// Life is a node's word on whether a run lives there.
type Life uint8

// Answers to Orders.Vouch. An agent of an older release gives none.
const (
	LifeUnsaid Life = iota // no answer
	LifeNone               // no process has the run's variables, and no application uses its services
	LifeSeen               // the node vouches: it sees such a process or application at this moment
)

// Orders are the server's orders to a node. They name generations, and the server repeats them until they are done.
type Orders struct {
	Head   Head
	Clean  []Clean         // remove and confirm, even where nothing is held
	Heard  uint64          // the newest Forward.Ask that the server has recorded
	Forget []Run           // confirmed clean, and stored by the server: the node may drop its record
	Over   []StepID        // steps whose end on this node the server has stored: the node may drop its record
	Calls  []SchedulerCall // to the scheduler plugin on this node; unlike the rest they come once
	Asks   []NodeAsk       // they come once, too
	Ran    []Ran           // the answer to a report that is First; comes once for each such report

	TwoHosts  string   // why nothing else is ordered: two hosts have the node's certificate; empty: one has it
	Inventory []string // the node's accepted NICs, after a full report and after a change; empty: nothing new
	Vouch     []Run    // the scheduler's answers lack these runs: the node answers with Held.Life
	Drain     *Drain   // why the node is out of service: in a session's first orders, and after a change; nil: nothing new
}

// MaxRan bounds the jobs of a Ran.
const MaxRan = 1024

// Ran lists a scheduler's jobs on the node, from a complete answer that began after the node's First report. A job of
// the list without a record ran before Weft.
type Ran struct {
	Scheduler string
	Jobs      []JobStatus // all JobRunning, without Hosts
	Whole     bool        // Jobs has every job that runs on the node without a reservation
}

// Clean orders a node to remove everything of Run. With VNIs and UID a node can check its NICs after a loss of its
// record.
type Clean struct {
	Run
	VNIs []VNI
}
