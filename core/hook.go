package core

// HookCall is one run of a scheduler's hook: what weft-hook sends. Everything in it but Peer and Received comes from outside.
type HookCall struct {
	ID        string // one id from weft-hook to the driver, for logs
	Scheduler string // the instance's label, or its type while that is unique
	Phase     string // the scheduler's own word: prolog, taskprolog, epilog, execjob_begin …
	Args      []string
	Env       map[string]string // only what the listener said it wants
	Stdin     []byte
	Node      string // this node
	Began     int64  // CLOCK_BOOTTIME in ns when the hook began; a clean-up covers prepares that began before it
	Peer      Peer
}

// Action is what a hook wants of the node.
type Action uint8

// The actions of hooks.
const (
	Prepare     Action = iota + 1 // make the job's services here
	Environment                   // tell the job's variables to its owner
	CleanUp                       // remove whatever this node holds of the job
	StepEnd                       // a step ended; multicast groups of the step can go
	Running                       // Alive is the complete list of jobs that the scheduler has on this node
	Room                          // is there a VNI for one more job? (PBS runjob)
)

func (a Action) String() string {
	return [...]string{"none", "prepare", "environment", "clean-up", "step-end", "running", "room"}[min(int(a), 6)]
}

// Intent is a HookCall understood.
type Intent struct {
	Action Action
	Key    Key    // Generation counts in Prepare only
	UID    uint32 // the job's owner as the hook knows it; checked against the caller and the scheduler
	Step   string
	Note   []byte // opaque to everybody but the adapter's Describe; at most MaxNote bytes
	Alive  []Key  // Running
	Began  int64  // from the HookCall
	Boot   string // the node's boot id; set by the agent
	Call   string // call id, for logs
	Speaks bool   // Prepare: while the server is away, this node and no other of the job's tells the scheduler (see Requeuer)
}

// MaxNote bounds Ask.Note, in bytes.
const MaxNote = 64 << 10

// Outcome is what came of an Ask, to be rendered in the scheduler's way.
type Outcome struct {
	Action      Action
	Key         Key
	Environment []Variable // in the order to print; Unset ones first
	Warnings    []string
	Err         *Error // nil: it worked
	Pending     bool   // CleanUp: the node is still at it and will go on by itself
}

// Variable of a job's environment. Unset says that a value the submitting shell carried must go.
type Variable struct {
	Name  string
	Value string
	Unset bool
}

// HookReply is what weft-hook prints and returns to the scheduler.
type HookReply struct {
	Stdout []byte
	Stderr []byte
	Exit   int
}
