package core

import (
	"slices"
	"strings"
)

// Resource is a NIC resource, in the order of the kernel's enum cxi_rsrc_type.
type Resource uint8

// The resources of a CXI service.
const (
	PTE Resource = iota // portal table entries
	TXQ                 // transmit command queues
	TGQ                 // target command queues
	EQ                  // event queues
	CT                  // counters
	LE                  // list entries; each service that reserves some takes a pool
	TLE                 // trigger list entries, from one of four pools; max is always reserved
	AC                  // addressing contexts
	NumResources
)

var resourceNames = [NumResources]string{"ptes", "txqs", "tgqs", "eqs", "cts", "les", "tles", "acs"}

func (r Resource) String() string {
	if r >= NumResources {
		return "unknown"
	}
	return resourceNames[r]
}

// ParseResource reads a name as Slurm (txqs) or the kernel (TXQ, TXQs) spells it, in any case.
func ParseResource(s string) (Resource, error) {
	name := strings.ToLower(s)
	for i, n := range resourceNames {
		if n == name || strings.TrimSuffix(n, "s") == name {
			return Resource(i), nil
		}
	}
	return 0, Errorf(BadRequest, "NIC resource %q: there is no such resource", Clip(s)).
		WithRemedy("use " + strings.Join(resourceNames[:], ", "))
}

// ResourceNames are the names in enum order.
func ResourceNames() []string { return slices.Clone(resourceNames[:]) }

// Limit of one resource on one NIC, in units of that resource. Reserved is guaranteed to the service and Max is its
// ceiling; Reserved <= Max.
type Limit struct {
	Max      uint16
	Reserved uint16
}

// Limits of a service on one NIC, indexed by Resource. The zero value grants nothing of anything.
type Limits [NumResources]Limit
