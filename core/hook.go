package core

// HookCall is one run of a scheduler's hook, as weft-hook sends it. Everything in it except Peer comes from outside.
type HookCall struct {
	ID        string // one id from weft-hook to the driver, for logs
	Scheduler string // the instance's label, or its type while that is unique
	Phase     string // the scheduler's own word: prolog, taskprolog, epilog, execjob_begin …
	Args      []string
	Env       map[string]string // only the variables that the listener wants
	Stdin     []byte
	Node      string // this node
	Began     int64  // CLOCK_BOOTTIME in ns when the hook began; a clean-up covers prepares that began before it
	Parent    bool   // the caller asks for the process that started it, as weft-hook does
	Peer      Peer
}

// Action is a hook's wish to the node.
type Action uint8

// The actions of hooks.
const (
	Prepare     Action = iota + 1 // make the job's services here
	Environment                   // show the job's variables to its owner
	CleanUp                       // remove everything that this node holds for the job
	StepEnd                       // a step ended; multicast groups of the step can go
	Running                       // Alive is the complete list of jobs that the scheduler has on this node
	Room                          // is there a VNI for one more job? (PBS runjob)
)

func (a Action) String() string {
	return [...]string{"none", "prepare", "environment", "clean-up", "step-end", "running", "room"}[min(int(a), 6)]
}

// Intent is the meaning of a HookCall.
type Intent struct {
	Action Action
	Key    Key    // Generation counts in Prepare only
	UID    uint32 // the job's owner as the hook knows it; checked against the caller and the scheduler
	Step   string
	Note   []byte // only the adapter's Describe reads it; at most MaxNote bytes
	Alive  []Key  // Running
	Began  int64  // from the HookCall
	Boot   string // the node's boot id; set by the agent
	Agent  string // as in Report; set by the agent
	Call   string // call id, for logs
	Speaks bool   // Prepare: of the job's nodes this one calls the scheduler while the server is away; see Requeuer
	Joins  bool   // Prepare: the services that the job has here already are enough; the server is not asked
	Tells  bool   // Prepare: after a refusal the hook itself ends its tasks and tells why; the scheduler need not

	// StepNodes is how many nodes Step has, by the scheduler's word on this node. 0: not known, and the step draws no VNI.
	StepNodes int

	// Request is the wish of Step's user for the step alone. Prepare and Environment refuse one that goes beyond the job's
	// grant.
	Request Request
}

// MaxNote bounds Intent.Note, in bytes.
const MaxNote = 64 << 10

// Outcome is the result of an Intent. The adapter renders it for its scheduler.
type Outcome struct {
	Action      Action
	Key         Key
	Environment []Variable // in the order to print; Unset ones first
	Warnings    []string
	Err         *Error // nil: it worked
	Pending     bool   // CleanUp: the node still works on it, and goes on without another call

	StepWarnings []string // Prepare: about this step alone; Warnings are about the job
}

// Variable of a job's environment. Unset removes a value that the submitting shell carried.
type Variable struct {
	Name  string
	Value string
	Unset bool
}

// HookReply is the output and exit code of weft-hook.
type HookReply struct {
	Stdout []byte
	Stderr []byte
	Exit   int
}
