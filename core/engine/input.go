package engine

import (
	"time"

	"github.com/weft-hpc/weft/core"
)

// Input is something that happened.
type Input interface{ input() }

// Reserve is a node's prepare. It comes without Said first; when the engine must know more it answers with Describe, and the same Reserve comes again with
// what the scheduler and policy said.
type Reserve struct {
	Call uint64
	Node string
	Ask  core.Intent
	Peer core.Peer
	Said *Said
}

// Said is what came of a Describe.
type Said struct {
	Began      time.Duration // Moment.Uptime when the scheduler was asked
	From       string        // as in Answer
	Job        core.Job
	Decision   Decision    // by policy, of Job
	Policy     Text        // that policy: by the time of the Step another may be in force, or the third already
	Err        *core.Error // instead of both
	Observed   bool        // Weft leaves the job as it is, unless it has granted it something before
	placements []hosts     // of Job, parsed
}

// NewSaid is what came of a Describe. It reads the job's hostlists, which can take a while, in the caller's time rather than the writer's.
func NewSaid(began time.Duration, job core.Job, decision Decision, by Text) *Said {
	return &Said{Began: began, Job: job, Decision: decision, Policy: by, placements: parseAll(job)}
}

// placement is the index of the placement of Job that lists node, or -1.
func (s *Said) placement(node string) int {
	if s.placements == nil {
		s.placements = parseAll(s.Job)
	}
	return index(s.placements, node)
}

// Report is what a node told in a session. Sessions are numbered by the server as they begin, so that nothing of an older one counts.
type Report struct {
	Node    string
	Session uint64
	Report  core.Report
}

// TwoHosts says that a second host asked for a session of a node while the first one showed that it lives.
type TwoHosts struct {
	Node  string
	Here  Host // which has the session
	There Host
}

// Detach says that a session ended.
type Detach struct {
	Node    string
	Session uint64
}

// Answer is what a scheduler's Watch told: a complete answer or changes. Began is when it told that it asks, by this process's running time: taken no later
// than the question left, so that nothing older than a prepare counts against it. What tells only that it asks is no input.
type Answer struct {
	Scheduler string
	Node      string // the answer is of this node alone (scheduler local): only jobs that were first prepared there are judged; empty: of all
	From      string // the node whose agent told; empty: the server itself heard it
	Began     time.Duration
	Jobs      core.Jobs
}

// Forget is an administrator's word. With a Serial or a Job: the nodes that are not clean are written off, and an active reservation is over. With
// Vanished: the jobs of the alarm are over.
type Forget struct {
	Call     uint64
	Serial   uint64
	Job      core.JobID
	Vanished bool
}

// SetDrain takes a node out of service, or back with an empty Reason.
type SetDrain struct {
	Call   uint64
	Node   string
	Reason string
	By     string // who says so
}

// Accept takes the NICs that a node reports now for its inventory.
type Accept struct {
	Call uint64
	Node string
}

// Recover says that nothing more will come of these nodes: a new or older store goes on without them.
type Recover struct {
	Call        uint64
	Without     []string
	Unwitnessed bool // only as long as nothing but the missing witness stops grants
}

// Configure replaces the configuration; the allocator was resized by then.
type Configure struct{ Config Config }

// Tick lets time pass.
type Tick struct{}

func (Reserve) input()   {}
func (Report) input()    {}
func (TwoHosts) input()  {}
func (Detach) input()    {}
func (Answer) input()    {}
func (Forget) input()    {}
func (SetDrain) input()  {}
func (Drained) input()   {}
func (Accept) input()    {}
func (Recover) input()   {}
func (Configure) input() {}
func (Tick) input()      {}
