package core

import "fmt"

// Grant is the part of a reservation for one node of its job.
type Grant struct {
	Run
	GID uint32
	// VNIs are in grant order, an ABI that SLINGSHOT_VNIS shows: application, job, then services. Empty: no network and no
	// service.
	VNIs       []VNI
	Classes    Classes
	Limits     Limits               // to reserve on each NIC of this node
	Floor      [NumResources]uint16 // Weft may not fit a reservation below this
	MinNICs    int                  // fewest NICs that must carry a service; 0: all of the node's inventory
	Inventory  []string             // the node's accepted NICs
	Collective *Collective
	Warnings   []string
	Head       Head // the store that made it
}

// Shown is g without its token, for an Annotator.
func (g Grant) Shown() Grant {
	if g.Collective != nil {
		c := *g.Collective
		c.Token = ""
		g.Collective = &c
	}
	return g
}

// Collective is a job's reservation of multicast addresses. Token is a secret: no log, list or argument has it.
type Collective struct {
	JobID     string // FI_CXI_COLL_JOB_ID
	Token     string // FI_CXI_COLL_MCAST_TOKEN
	URL       string // FI_CXI_COLL_FABRIC_MGR_URL
	Addresses int    // FI_CXI_HWCOLL_ADDRS_PER_JOB
	MinNodes  int    // FI_CXI_HWCOLL_MIN_NODES
}

// String leaves the token out, so a format verb cannot bring it into a log.
func (c Collective) String() string {
	return fmt.Sprintf("collective %s with %d addresses", c.JobID, c.Addresses)
}

// GoString is for %#v.
func (c Collective) GoString() string { return c.String() }

// Fabric lists all reservations of the fabric manager. The sweep of orphans reads it.
type Fabric struct {
	Collectives []Key
	Addresses   int // in use
	Total       int
}

// Head identifies a store and its progress. Every frame between agent and server carries the highest that its sender
// has seen. So the server notices a rolled back, imported or new store before that store grants anything.
type Head struct {
	Store    string // random, made with the store
	Epoch    uint64 // raised after each loss of the store's newest past
	Revision uint64 // raised by every commit
}

// Before reports whether h is older than g in the same store, or from another store. Heads of different stores have no
// order: each is before the other.
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
