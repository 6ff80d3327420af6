package core

import "fmt"

// Grant is what a reservation gives to one node of its job.
type Grant struct {
	Run
	GID        uint32
	VNIs       []VNI // grant order; SLINGSHOT_VNIS shows it and it is an ABI: application, job, then services. Empty: no network, no service
	Classes    Classes
	Limits     Limits               // wanted on each NIC of this node
	Floor      [NumResources]uint16 // reserved may not be fitted below this
	MinNICs    int                  // fewest NICs that must carry a service; 0: all of the node's inventory
	Inventory  []string             // the node's accepted NICs
	Collective *Collective
	Warnings   []string
	Head       Head // the store that made it
}

// Shown is g as an Annotator may have it: without its token.
func (g Grant) Shown() Grant {
	if g.Collective != nil {
		c := *g.Collective
		c.Token = ""
		g.Collective = &c
	}
	return g
}

// Collective is a job's multicast address reservation. Token is a secret: it is in no log, list or argument.
type Collective struct {
	JobID     string // FI_CXI_COLL_JOB_ID
	Token     string // FI_CXI_COLL_MCAST_TOKEN
	URL       string // FI_CXI_COLL_FABRIC_MGR_URL
	Addresses int    // FI_CXI_HWCOLL_ADDRS_PER_JOB
	MinNodes  int    // FI_CXI_HWCOLL_MIN_NODES
}

// String leaves the token out, so that no format verb brings it into a log.
func (c Collective) String() string {
	return fmt.Sprintf("collective %s with %d addresses", c.JobID, c.Addresses)
}

// GoString is for %#v.
func (c Collective) GoString() string { return c.String() }

// Fabric is what the fabric manager holds: the truth for the sweep of orphans.
type Fabric struct {
	Collectives []Key
	Addresses   int // in use
	Total       int
}

// Head identifies a store and how far it has come. Every frame between agent and server carries the highest seen, so that a store rolled back, imported
// or made anew is noticed before it grants anything.
type Head struct {
	Store    string // random, made with the store
	Epoch    uint64 // raised whenever the store's past turned out not to be the newest
	Revision uint64 // raised by every commit
}

// Before reports whether h is an older state of the same line than g, or of another line (which has no order: true when the stores differ).
func (h Head) Before(g Head) bool {
	if g.Store == "" {
		return false
	}
	if h.Store != g.Store {
		return true
	}
	if h.Epoch != g.Epoch {
		return h.Epoch < g.Epoch
	}
	return h.Revision < g.Revision
}
