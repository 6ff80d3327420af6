package core

import "fmt"

// Grant is the part of a reservation for one node of its job.
type Grant struct {
	Run
	GID uint32
	// VNIs are in grant order, an ABI that SLINGSHOT_VNIS shows: application, job, then services. Empty: no network and no
	// service. The services on the NICs list all of them.
	VNIs       []VNI
	Steps      int    // how many of VNIs, the last ones, steps draw from: no variable of the job shows them
	Drawn      *Drawn // for the step that the Intent named; nil: it named none, or Steps is 0
	Classes    Classes
	Asked      bool                 // the user asked for Classes by name
	Limits     Limits               // to reserve on each NIC of this node
	Floor      [NumResources]uint16 // Weft may not fit a reservation below this
	Exact      bool                 // the user wants what Limits reserve, and no less
	Share      Share                // bounds Limits on each NIC
	MinNICs    int                  // fewest NICs that must carry a service; 0: all of the node's inventory
	Inventory  []string             // the node's accepted NICs
	Collective *Collective
	Warnings   []string
	Request    *Request // what the user asked for the job; nil: the server does not say
	Head       Head     // the store that made it
}

// Share is a job's part of a node on which other jobs may run. The zero value is all of it.
type Share struct {
	Cores int // the job's
	Total int // the node's; 0: the scheduler does not say, so the node counts its processors
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

// Head identifies a store and its progress. Each start of a server makes an incarnation, which the store's record of
// its past names. Agents keep and report the newest head that they saw. So the server notices a store that was put back
// from a copy, even after that copy has grown past what an agent saw.
type Head struct {
	Store       string // random, made with the store
	Incarnation uint64 // random; 0: of a release that makes none
	Epoch       uint64 // the ordinal of the incarnation, raised again after each loss of the store's newest past
	Revision    uint64 // raised by every commit
}

// Before reports whether h is older than g. Heads of different stores have no order, nor have two incarnations of one
// epoch: each is before the other.
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
	if h.Incarnation != g.Incarnation && h.Incarnation != 0 && g.Incarnation != 0 {
		return true
	}
	return h.Revision < g.Revision
}
