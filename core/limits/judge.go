package limits

import (
	"fmt"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// judge says what is wrong with got, if anything.
func judge(want, got core.Limits, floor Floor, dev core.Device) error {
	if want[core.LE].Max > 0 && got[core.LE].Max == 0 {
		return useless(want, dev)
	}
	var below []string
	var short []core.Shortage
	for r := range core.NumResources {
		if got[r].Reserved >= floor[r] {
			continue
		}
		has := dev.Capacity[r]
		s := core.Shortage{Device: dev.Name, Resource: r, Want: max(floor[r], want[r].Reserved), Have: min(has.Free, has.Total), Pool: noPool(has)}
		short = append(short, s)
		below = append(below, fmt.Sprintf("%v: %s, below policy's floor of %d", r, reach(want[r], got[r], has, s.Pool), floor[r]))
	}
	if len(short) == 0 {
		return nil
	}
	return core.Errorf(core.BelowFloor, "NIC %s: %s", dev.Name, strings.Join(below, "; ")).WithShort(short...)
}

// reach says how far a reservation gets, and why no further.
func reach(want, got core.Limit, has core.Supply, pool bool) string {
	switch {
	case pool:
		return fmt.Sprintf("%d of %d can be reserved, for no pool is left", got.Reserved, want.Reserved)
	case want.Reserved > got.Reserved && want.Reserved > min(has.Free, has.Total):
		return fmt.Sprintf("%d of %d can be reserved, for %d of %d are free", got.Reserved, want.Reserved, min(has.Free, has.Total), has.Total)
	case want.Reserved > got.Reserved:
		return fmt.Sprintf("%d of %d can be reserved", got.Reserved, want.Reserved)
	}
	return fmt.Sprintf("%d are asked for", want.Reserved)
}

// useless is the error of a NIC that has no list entries for the job: no message could be received through it.
func useless(want core.Limits, dev core.Device) error {
	has := dev.Capacity[core.LE]
	s := core.Shortage{Device: dev.Name, Resource: core.LE, Want: max(want[core.LE].Reserved, 1), Have: min(has.Free, has.Total), Pool: noPool(has)}
	why := fmt.Sprintf("the device has %d", has.Total)
	if s.Pool {
		why = "no LE pool is left, and with this driver no list entry comes without one"
	}
	return core.Errorf(core.NICShort, "NIC %s: les: the job would have none: %s", dev.Name, why).WithShort(s)
}
