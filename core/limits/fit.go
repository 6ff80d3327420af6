// Package limits fits the limits that a job is granted to what a NIC has left.
//
// The hardware's rules arrive as data in core.Capacity: no device is known here by name. What Fit and Refit return is never refused by a device as
// invalid (max above its total, or reserved above max: EINVAL), and never asks for more than the device said was free (ENOSPC), unless somebody else
// took it since: then Refit.
package limits

import "github.com/weft-hpc/weft/core"

// Floor is what may be reserved least of each resource; 0 sets no floor.
type Floor = [core.NumResources]uint16

// Fit fits what is wanted to the NIC as it is now, and warns of whatever the job does not get:
//   - max is cut to what the device has in all;
//   - reserved is cut to what is free;
//   - a reservation that takes a pool (LE, TLE) falls to 0 when no pool is left, and max with it where max alone takes a pool;
//   - a reservation below the device's least is raised to it, or falls to 0 when that much is not free;
//   - max becomes reserved where the device forces it (TLE).
//
// Reserved above max is cut to max: max is the policy's ceiling. The error is core.BelowFloor when less would be reserved than the floor, and
// core.NICShort when the NIC cannot be used at all (no list entries, since no LE pool is left); Short names each resource. There are no limits then.
func Fit(want core.Limits, floor Floor, dev core.Device) (core.Limits, []Warning, error) {
	var got core.Limits
	for r := range core.NumResources {
		got[r] = fit(want[r], dev.Capacity[r])
	}
	if err := judge(want, got, floor, dev); err != nil {
		return core.Limits{}, nil, err
	}
	return got, Compare(want, got, dev), nil
}

// Take counts a service of these limits among those that dev has.
func Take(dev *core.Device, l core.Limits) {
	for r := range core.NumResources {
		has := &dev.Capacity[r]
		has.Free -= min(has.Free, l[r].Reserved)
		if has.PoolsLeft > 0 && (l[r].Reserved > 0 || has.PooledByMax && l[r].Max > 0) {
			has.PoolsLeft--
		}
	}
}

// fit one resource.
func fit(want core.Limit, has core.Supply) core.Limit {
	got := core.Limit{Max: want.Max, Reserved: min(want.Reserved, has.Total, has.Free)}
	if !has.MaxIsReserved {
		got.Reserved = min(got.Reserved, want.Max)
	}
	if noPool(has) {
		got.Reserved = 0
		if has.PooledByMax {
			got.Max = 0
		}
	}
	if got.Reserved > 0 && got.Reserved < has.Least {
		got.Reserved = has.Least
		if has.Least > min(has.Free, has.Total) {
			got.Reserved = 0
		}
	}
	got.Max = min(max(got.Max, got.Reserved), has.Total)
	if has.MaxIsReserved {
		got.Max = got.Reserved
	}
	return got
}

func noPool(has core.Supply) bool { return has.Pooled && has.PoolsLeft == 0 }
