package refusal

import "github.com/weft-hpc/weft/core"

// FailInfo is struct cxi_svc_fail_info, the driver's report of an ENOSPC. The driver fills Avail in enum order and
// stops at the first resource that is short. Entries behind it, those not asked for and TLE stay 0. So a comparison of
// all entries finds false shortages.
type FailInfo struct {
	Avail      [core.NumResources]uint16
	NoLEPools  bool
	NoTLEPools bool
}

// First is the resource that made an ENOSPC: the first one but TLE with more reserved than was available, or a missing
// pool. It is not shown where the report names neither. That leaves TLE entries, which the driver never reports.
func (f FailInfo) First(limits core.Limits) (r core.Resource, pool, shown bool) {
	for i := range core.NumResources {
		if i != core.TLE && limits[i].Reserved > f.Avail[i] {
			return i, false, true
		}
	}
	switch {
	case f.NoLEPools:
		return core.LE, true, true
	case f.NoTLEPools:
		return core.TLE, true, true
	}
	return core.TLE, false, false
}

// Short is ENOSPC of a creation, and names the resource that was short. The NIC still has the capacity left, by a list
// that is newer than the refusal. Where it has enough, something else was short. So releases from 13.0 on refuse the
// 257th VNI of a NIC: 13.0 before it fills a report, later ones after (cxi_svc_alloc in cass_svc.c).
func Short[E Errno](spec *core.ServiceSpec, left core.Capacity, fail FailInfo, errno E) *core.Error {
	r, pool, shown := fail.First(spec.Limits)
	if !shown {
		r, pool = hidden(&spec.Limits, left)
	}
	s := core.Shortage{Device: spec.Device, Resource: r, Want: 1, Pool: pool}
	if pool {
		return core.Errorf(core.NICShort, "NIC %s: %s: no pool for %s is left: %w", spec.Device, creation(spec), r, errno).
			WithShort(s)
	}
	s.Want, s.Have = spec.Limits[r].Reserved, fail.Avail[r]
	if r == core.TLE {
		s.Want, s.Have = max(s.Want, left[core.TLE].Least), left[core.TLE].Free
	}
	if free := left[r].Free; free >= s.Want {
		s.Have = free
		return core.Errorf(core.NICShort, "NIC %s: %s: no entry for its VNIs is left, or it lacked %s for a moment: %w",
			spec.Device, creation(spec), r, errno).WithShort(s)
	}
	return core.Errorf(core.NICShort, "NIC %s: %s: it reserves %d %s and %d are left: %w",
		spec.Device, creation(spec), s.Want, r, s.Have, errno).WithShort(s)
}

// hidden is the resource that was short where the driver's report shows nothing: it never names TLEs, and no pool
// before SHS 13.1. The order is the driver's own.
func hidden(l *core.Limits, left core.Capacity) (r core.Resource, pool bool) {
	if le := l[core.LE]; left[core.LE].PoolsLeft == 0 && (le.Reserved > 0 || left[core.LE].PooledByMax && le.Max > 0) {
		return core.LE, true
	}
	tle := left[core.TLE]
	pool = l[core.TLE] != core.Limit{} && tle.PoolsLeft == 0
	return core.TLE, pool && max(l[core.TLE].Reserved, tle.Least) <= tle.Free
}
