package sim

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// reasons of the error numbers of service calls; what is not here is a NIC that failed.
var reasons = map[kernel.Errno]struct {
	reason core.Reason
	why    string
}{
	kernel.EBUSY:       {core.ServiceBusy, "an application holds an LNI of it, or its queues have not drained"},
	kernel.EEXIST:      {core.NICConflict, "another service on this NIC has a range with one of its VNIs, or an owner is named twice"},
	kernel.EINVAL:      {core.BadCall, "the NIC refuses it: a VNI, an owner or a limit is not valid on this device"},
	kernel.EBADR:       {core.BadCall, "its owner is nobody (4294967295)"},
	kernel.EPERM:       {core.NotAllowed, "the caller is not one of its owners"},
	kernel.EKEYREVOKED: {core.NotAllowed, "it is disabled"},
	kernel.ENOSPC:      {core.NICShort, "the NIC has no resource group left"},
}

// failure is an error number as Weft's error. id 0 is left out.
func failure(device, what string, id uint32, errno kernel.Errno) *core.Error {
	if id != 0 {
		what = fmt.Sprintf("%s %d", what, id)
	}
	r, known := reasons[errno]
	if !known {
		return core.Errorf(core.NICFailed, "NIC %s: %s: %w", device, what, errno)
	}
	return core.Errorf(r.reason, "NIC %s: %s: %s: %w", device, what, r.why, errno)
}

// short is ENOSPC of a creation, with what was short.
func short(spec core.ServiceSpec, n *kernel.NIC, fail kernel.FailInfo) *core.Error {
	c := n.Capacity()
	r, pool, shown := fail.First(spec.Limits)
	s := core.Shortage{Device: spec.Device, Want: 1}
	if !shown {
		r, pool = hidden(spec.Limits, c)
	}
	s.Resource, s.Pool = r, pool
	if pool {
		return core.Errorf(core.NICShort, "NIC %s: cannot create service: VNIs %s: no pool for %s is left: %w", spec.Device, core.FormatVNIs(spec.VNIs), r, kernel.ENOSPC).WithShort(s)
	}
	s.Want, s.Have = spec.Limits[r].Reserved, fail.Avail[r]
	if r == core.TLE {
		s.Want, s.Have = max(s.Want, kernel.LeastTLEs), c[core.TLE].Free
	}
	return core.Errorf(core.NICShort, "NIC %s: cannot create service: VNIs %s: %d %s are to be reserved and %d are left: %w",
		spec.Device, core.FormatVNIs(spec.VNIs), s.Want, r, s.Have, kernel.ENOSPC).WithShort(s)
}

// hidden is what was short where the driver's report shows nothing: TLEs it never names, pools not before SHS 13.1. The order is the driver's own.
func hidden(l core.Limits, c core.Capacity) (r core.Resource, pool bool) {
	if le := l[core.LE]; c[core.LE].PoolsLeft == 0 && (le.Reserved > 0 || c[core.LE].PooledByMax && le.Max > 0) {
		return core.LE, true
	}
	return core.TLE, max(l[core.TLE].Reserved, c[core.TLE].Least) <= c[core.TLE].Free
}

// taken is EEXIST of a creation, with the service that has the VNI. exact says that this NIC lets services share a VNI, but for that of a range.
func taken(spec core.ServiceSpec, services []core.Service, exact bool) *core.Error {
	for _, s := range services {
		if exact && max(len(s.VNIs), len(spec.VNIs)) <= core.MaxVNIs {
			continue
		}
		for _, v := range s.VNIs {
			if slices.Contains(spec.VNIs, v) {
				return core.Errorf(core.NICConflict, "NIC %s: cannot create service: VNIs %s: service %d of %s has VNI %d already: %w",
					spec.Device, core.FormatVNIs(spec.VNIs), s.ID, s.Owner, v, kernel.EEXIST)
			}
		}
	}
	return failure(spec.Device, "cannot create service: VNIs "+core.FormatVNIs(spec.VNIs), 0, kernel.EEXIST)
}

// ended is the error of a call whose context is over.
func ended(ctx context.Context, what string) *core.Error {
	return core.AsError(fmt.Errorf("%s: %w", what, ctx.Err()))
}
