package core

// Job is what a scheduler says of a job once it runs: the facts that policy decides on.
type Job struct {
	Run
	GID        uint32
	User       string
	Groups     []string
	Account    string
	Queue      string // partition, queue
	Name       string // for people; never decided on
	Placements []Placement
	Request    Request
	Gone       bool // the scheduler knows the id, but that run is over
}

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
}

// Request is what a user asked for, in whichever scheduler's words. The zero value asks for what everybody gets.
type Request struct {
	Off         bool    // no network wanted
	VNIs        int     // how many VNIs of its own; 0: what policy gives
	JobVNI      bool    // a VNI for the whole job beside the application's
	SingleNode  bool    // a VNI even on one node
	Classes     Classes // 0: what policy gives
	Depth       int     // stands in for share.cores; 0: the cores; at most 1024 (Slurm)
	Collectives bool
	Limits      [NumResources]LimitRequest
	Warnings    []string // what the adapter accepted and what has no effect
}

// LimitRequest is what a user asked of one resource; nil asks for nothing.
type LimitRequest struct {
	PerCore  *uint16 // def_<r>: reserved a core
	Reserved *uint16 // res_<r>: reserved on a node, overrides PerCore
	Max      *uint16 // max_<r>: the ceiling
}
