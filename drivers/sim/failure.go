package sim

import (
	"context"
	"errors"
	"fmt"

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
	kernel.EIO:         {core.NICFailed, "the NIC does not work"},
}

// failure is an error number as Weft's error. id 0 is left out.
func failure(device, what string, id uint32, errno kernel.Errno) *core.Error {
	if id != 0 {
		what = fmt.Sprintf("%s %d", what, id)
	}
	r, ok := reasons[errno]
	if !ok {
		r.reason, r.why = core.NICFailed, "the NIC failed"
	}
	return core.Errorf(r.reason, "NIC %s: %s: %s: %w", device, what, r.why, errno)
}

// short is ENOSPC of a creation, with what was short. The driver's report names one resource and never TLEs: they are worked out from what is reserved.
func short(spec core.ServiceSpec, n *kernel.NIC, fail kernel.FailInfo) *core.Error {
	r, pool, shown := fail.First(spec.Limits)
	s := core.Shortage{Device: spec.Device, Resource: r, Pool: pool}
	if pool {
		s.Want = 1
		return core.Errorf(core.NICShort, "NIC %s: create a service with VNIs %s: no pool for %s is left: %w", spec.Device, core.FormatVNIs(spec.VNIs), r, kernel.ENOSPC).WithShort(s)
	}
	s.Want, s.Have = spec.Limits[r].Reserved, fail.Avail[r]
	if !shown {
		s.Want, s.Have = max(s.Want, kernel.LeastTLEs), n.Capacity()[core.TLE].Free
	}
	return core.Errorf(core.NICShort, "NIC %s: create a service with VNIs %s: %d %s are to be reserved and %d are left: %w",
		spec.Device, core.FormatVNIs(spec.VNIs), s.Want, r, s.Have, kernel.ENOSPC).WithShort(s)
}

// ended is the error of a call whose context is over.
func ended(ctx context.Context, what string) *core.Error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return core.Errorf(core.Cancelled, "%s: %w", what, context.Canceled)
	}
	return core.Errorf(core.TimedOut, "%s: %w", what, context.DeadlineExceeded)
}
