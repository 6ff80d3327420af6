package cxi

import (
	"fmt"
	"slices"

	"github.com/weft-hpc/weft/core"
)

// reasons of the error numbers of service calls; what is not here is a NIC that failed.
var reasons = map[errno]struct {
	reason core.Reason
	why    string
}{
	ebusy:      {core.ServiceBusy, "an application holds an LNI of it, or its queues have not drained"},
	eexist:     {core.NICConflict, "another service on this NIC has a range with one of its VNIs, or an owner is named twice"},
	einval:     {core.BadCall, "the NIC refuses it: a VNI, an owner or a limit is not valid on this device"},
	ebadr:      {core.BadCall, "its owner is nobody (4294967295)"},
	enospc:     {core.NICShort, "the NIC has no resource group left"},
	ecanceled:  {core.Cancelled, "its time was up, or its caller gone; what it had made is removed"},
	eopnotsupp: {core.NotSupported, "this release of libcxi or of the driver cannot do it"},
}

// failure is an error number as Weft's error. id 0 is left out.
func failure(device, what string, id uint32, err errno) *core.Error {
	if id != 0 {
		what = fmt.Sprintf("%s %d", what, id)
	}
	switch err {
	case eperm, eacces:
		return core.Errorf(core.NICFailed, "NIC %s: %s: the driver lets only root with CAP_SYS_ADMIN, on the host itself: %w", device, what, err).
			WithRemedy("run the agent as root, outside containers, with CAP_SYS_ADMIN and /dev/cxi*")
	case enoent, enodev, enxio:
		return core.Errorf(core.NICFailed, "NIC %s: %s: the device is not there any more: %w", device, what, err)
	default:
	}
	r, known := reasons[err]
	if !known {
		return core.Errorf(core.NICFailed, "NIC %s: %s: %w", device, what, err)
	}
	return core.Errorf(r.reason, "NIC %s: %s: %s: %w", device, what, r.why, err)
}

// first is the resource that made an ENOSPC. The driver fills avail in enum order and stops at the first resource that is short; entries behind it, those
// not asked for and TLE stay 0, so whoever compares them all finds shortages that are none. shown is false where the report names nothing.
func (f *failInfo) first(l *core.Limits) (r core.Resource, pool, shown bool) {
	for i := range core.NumResources {
		if i != core.TLE && l[i].Reserved > f.avail[i] {
			return i, false, true
		}
	}
	switch {
	case f.noLEPools != 0:
		return core.LE, true, true
	case f.noTLEPools != 0:
		return core.TLE, true, true
	}
	return core.TLE, false, false
}

// short is ENOSPC of a creation, with what was short; c is what the NIC has left now.
func short(spec *core.ServiceSpec, c core.Capacity, fail *failInfo) *core.Error {
	r, pool, shown := fail.first(&spec.Limits)
	s := core.Shortage{Device: spec.Device, Want: 1}
	if !shown {
		r, pool = hidden(&spec.Limits, c)
	}
	s.Resource, s.Pool = r, pool
	if pool {
		return core.Errorf(core.NICShort, "NIC %s: cannot create service: VNIs %s: no pool for %s is left: %w", spec.Device, core.FormatVNIs(spec.VNIs), r, enospc).WithShort(s)
	}
	s.Want, s.Have = spec.Limits[r].Reserved, fail.avail[r]
	if r == core.TLE {
		s.Want, s.Have = max(s.Want, leastTLEs), c[core.TLE].Free
	}
	return core.Errorf(core.NICShort, "NIC %s: cannot create service: VNIs %s: %d %s are to be reserved and %d are left: %w",
		spec.Device, core.FormatVNIs(spec.VNIs), s.Want, r, s.Have, enospc).WithShort(s)
}

// hidden is what was short where the driver's report shows nothing: TLEs it never names, pools not before SHS 13.1. The order is the driver's own.
func hidden(l *core.Limits, c core.Capacity) (r core.Resource, pool bool) {
	if le := l[core.LE]; c[core.LE].PoolsLeft == 0 && (le.Reserved > 0 || c[core.LE].PooledByMax && le.Max > 0) {
		return core.LE, true
	}
	return core.TLE, max(l[core.TLE].Reserved, c[core.TLE].Least) <= c[core.TLE].Free
}

// taken is EEXIST of a creation, with the service that has the VNI. exact says that this NIC lets services share a VNI, but for that of a range.
func taken(spec *core.ServiceSpec, services []core.Service, exact bool) *core.Error {
	for _, s := range services {
		if exact && max(len(s.VNIs), len(spec.VNIs)) <= core.MaxVNIs {
			continue
		}
		for _, v := range s.VNIs {
			if slices.Contains(spec.VNIs, v) {
				return core.Errorf(core.NICConflict, "NIC %s: cannot create service: VNIs %s: service %d of %s has VNI %d already: %w",
					spec.Device, core.FormatVNIs(spec.VNIs), s.ID, s.Owner, v, eexist)
			}
		}
	}
	return failure(spec.Device, "cannot create service: VNIs "+core.FormatVNIs(spec.VNIs), 0, eexist)
}
