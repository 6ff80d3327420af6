package core

import "math"

// Job holds the facts about a running job, from its scheduler. Policy decides on them.
type Job struct {
	Run
	GID     uint32
	Gone    bool // the scheduler knows the id, but this run has ended
	User    string
	Groups  []string
	Account string
	Queue   string // partition, queue
	Told
	Name       string // for people; policy does not see it
	Placements []Placement
	Request    Request
}

// Told are facts that some schedulers have for some jobs. nil: the scheduler did not tell the fact, so it is unknown.
// An empty text: the job has none.
type Told struct {
	QOS         *string
	Reservation *string
	TimeLimit   *int64  // in seconds; Unlimited: none
	Constraints *string // what its nodes must have, in the scheduler's own words
}

// Unlimited is the TimeLimit of a job that has none. It is longer than any other.
const Unlimited int64 = math.MaxInt64

// Nodes is how many nodes the job has.
func (j Job) Nodes() int {
	n := 0
	for _, s := range j.Placements {
		n += s.Nodes
	}
	return n
}

// Placement is a set of the job's nodes on which it has equally many cores.
type Placement struct {
	Hosts string // hostlist, in Weft's names of nodes
	Nodes int    // how many hosts that is
	Cores int    // the job's cores on each of them
	// Total is the number of cores that jobs can have on each of them. A core that two jobs may have at a time counts
	// twice. Equal to Cores: no other job runs there. 0: the scheduler does not say.
	Total int
}

// Request is a user's request, translated from the scheduler's words. The zero value asks for the default of each
// field.
type Request struct {
	Off         bool    // no network wanted
	JobVNI      bool    // a VNI for the whole job as well as the application's
	SingleNode  bool    // a VNI even on one node
	Classes     Classes // 0: as policy says
	Collectives bool
	Exact       bool // nothing less than what is reserved (no_adjust_limits)
	VNIs        int  // how many VNIs; 0: as policy says
	Depth       int  // replaces share.cores; 0: the cores; at most 1024 (Slurm)
	Limits      [NumResources]LimitRequest
	Warnings    []string // options that the adapter accepted and that have no effect
}

// LimitRequest is a user's request for one resource. Each nil field asks for nothing.
type LimitRequest struct {
	PerCore  *uint16 // def_<r>: reserved a core
	Reserved *uint16 // res_<r>: reserved on a node, overrides PerCore
	Max      *uint16 // max_<r>: the ceiling
}
