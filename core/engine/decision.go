package engine

import (
	"slices"

	"github.com/weft-hpc/weft/core"
)

// Policy decides what a job gets. Pure and total: what goes wrong inside is a deny with its trace. It never reads use.
type Policy interface {
	Decide(Facts) Decision
}

// Facts are all that a decision depends on.
type Facts struct {
	Job    core.Job
	System System
	Now    int64 // when it is decided, in Unix seconds; 0: nobody says
	Spread int   // over how many groups of the topology the job is spread, where that was found out before; 0: it is System.Topology's to say
}

// Groups is over how many groups of the topology the job is spread; 0: that is not known.
func (f *Facts) Groups() int {
	if f.Spread > 0 {
		return f.Spread
	}
	return f.System.Topology.Spread(f.Job)
}

// System is what policy may know of the whole.
type System struct {
	Nodes    int       // that config.hcl declares
	Topology *Topology // nil: config.hcl has none
}

// Decision is what a job gets, as data. Quotas are counted in the engine's step, so that two racing jobs cannot both have the last one.
type Decision struct {
	Deny        *core.Error // nil: granted
	VNIs        []Wanted    // in grant order; none: no reservation, no service, variables unset
	Classes     core.Classes
	Greedy      bool          // share = "greedy": the job's part of a shared node does not bound Limits
	Steps       uint8         // how many of VNIs, the last ones, steps draw from
	Beyond      Beyond        // for the steps that find none of them free
	Degrade     bool          // on_failure = "degrade": run without isolation when Weft cannot serve
	Limits      []core.Limits // one a Placement of the job, in order
	Floor       [core.NumResources]uint16
	MinNICs     int // 0: all of the node's inventory
	Collectives int // multicast addresses; 0: none
	Quotas      []Quota
	Warnings    []string
	Trials      []string // what a deny that is only tried out (enforce = "dry_run") would have said; only logged
	Rules       []string // the rules that matched, in order
	Policy      string   // hash of the policy's text
	Now         int64    // Facts.Now that it was made with; 0: of a release that kept none
}

// without is the decision for a job that runs without isolation, since err is why it cannot have any. It is kept like any other: a node that comes later, when a
// VNI is free again, must not get what the first has not.
func (d Decision) without(err *core.Error) Decision {
	d.VNIs, d.Limits, d.Collectives, d.Quotas, d.Steps = nil, nil, 0, nil, 0
	d.Warnings = append(slices.Clone(d.Warnings), `the job runs without isolation, as on_failure = "degrade" of the policy has it: `+err.What)
	return d
}

// Judge is a Policy that also tells which of its denies were for the job, those that are not enforced among them, to be counted.
type Judge interface {
	Judge(Facts) (Decision, []Denial)
}

// Denial is a deny of policy that was for a job.
type Denial struct {
	Name    string // the deny block's name
	Enforce Enforce
}

// Wanted is one VNI of a decision. Name is policy's (app, job, daos), Pool the pool or the service whose block it is taken from.
type Wanted struct {
	Name string
	Pool string
}

// Quota is a bound that the decision is subject to. All reservations that carry the same Name and Subject count against it, as long as they are active
// or draining; held and quarantined ones do not.
type Quota struct {
	Name    string // the quota block's name
	Subject string // whose: user alice, account phys …
	Unit    Unit
	Most    int
	Enforce Enforce
	Ends    bool // a job ends, rather than waits, when others hold all of it; a reservation does not keep this
}

// Beyond says what a step gets that finds no VNI of its own free.
type Beyond uint8

// The values of Beyond.
const (
	BeyondShare  Beyond = iota // the job's VNI, with a warning
	BeyondRefuse               // nothing: the step does not start
)

// Beyonds are the values as a policy writes them.
func Beyonds() []string { return []string{"share", "refuse"} }

// Unit is what a quota counts.
type Unit uint8

// Units of quotas.
const (
	UnitVNIs Unit = iota
	UnitAddresses
)

// Enforce says what happens when a quota is exceeded.
type Enforce uint8

// Levels of enforcement.
const (
	EnforceDeny   Enforce = iota
	EnforceWarn           // granted with a warning
	EnforceDryRun         // granted; only logged
)

// Enforcements are the levels as a policy writes them.
func Enforcements() []string { return []string{"deny", "warn", "dry_run"} }

func (e Enforce) String() string { return Enforcements()[min(e, EnforceDryRun)] }
