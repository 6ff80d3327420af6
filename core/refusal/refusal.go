// Package refusal says what a refusal of the CXI driver means, and which resource was short. NIC drivers share it.
package refusal

import (
	"fmt"
	"slices"

	"github.com/weft-hpc/weft/core"
)

// Errno is a Linux error number as a call of the CXI driver returns it. Its text is the number's symbol.
type Errno interface {
	~uint16
	error
}

// The numbers that service calls return, as Linux counts them.
const (
	ebusy      = 16
	eexist     = 17
	einval     = 22
	enospc     = 28
	ebadr      = 53
	eopnotsupp = 95
	ecanceled  = 125
)

// reasons of the error numbers of service calls. Any other number means that the NIC failed.
var reasons = map[uint16]struct {
	reason core.Reason
	why    string
}{
	ebusy: {core.ServiceBusy, "an application holds an LNI of it, or its queues have not drained"},
	eexist: {core.NICConflict,
		"another service on this NIC has a range with one of its VNIs, or an owner is named twice"},
	einval:     {core.BadCall, "the NIC refuses it: a VNI, an owner or a limit is not valid on this device"},
	enospc:     {core.NICShort, "the NIC has no resource group left"},
	ebadr:      {core.BadCall, "its owner is nobody (4294967295)"},
	eopnotsupp: {core.NotSupported, "this release of libcxi or of the driver cannot do it"},
	ecanceled:  {core.Cancelled, "its time was up, or its caller gone; what it had made is removed"},
}

// Error is an error number as Weft's error. id 0 is left out.
func Error[E Errno](device, what string, id uint32, errno E) *core.Error {
	if id != 0 {
		what = fmt.Sprintf("%s %d", what, id)
	}
	r, known := reasons[uint16(errno)]
	if !known {
		return core.Errorf(core.NICFailed, "NIC %s: %s: %w", device, what, errno)
	}
	return core.Errorf(r.reason, "NIC %s: %s: %s: %w", device, what, r.why, errno)
}

// Taken is EEXIST of a creation, and names the service that has the VNI. exact says that this NIC lets services share a
// VNI, but not one of a range.
func Taken[E Errno](spec *core.ServiceSpec, services []core.Service, exact bool, errno E) *core.Error {
	for _, s := range services {
		if exact && max(len(s.VNIs), len(spec.VNIs)) <= core.MaxVNIs {
			continue
		}
		for _, v := range s.VNIs {
			if slices.Contains(spec.VNIs, v) {
				return core.Errorf(core.NICConflict, "NIC %s: %s: %s has VNI %d already: %w",
					spec.Device, creation(spec), holder(&s), v, errno)
			}
		}
	}
	return Error(spec.Device, creation(spec), 0, errno)
}

func holder(s *core.Service) string {
	if s.Default {
		return fmt.Sprintf("the default service (%d)", s.ID)
	}
	return fmt.Sprintf("service %d of %s", s.ID, s.Owner)
}

func creation(spec *core.ServiceSpec) string {
	return "cannot create service: VNIs " + core.VNIRanges(spec.VNIs)
}

// Removal refuses to remove a service that is not the one that s names any more, or that is the system's. now has the
// id of s on the NIC.
func Removal(s, now core.Service) error {
	switch {
	case !s.Same(now):
		return core.Errorf(core.NICConflict,
			"NIC %s: service %d: it is now another's: its VNIs are %s, its owner %s, where VNIs %s of %s were to go",
			s.Device, s.ID, core.VNIRanges(now.VNIs), now.Owner, core.FormatVNIs(s.VNIs), s.Owner)
	case now.System || now.Default:
		return core.Errorf(core.NICConflict,
			"NIC %s: service %d: it belongs to the system and is never removed", s.Device, s.ID)
	}
	return nil
}
