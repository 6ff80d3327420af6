package limits

import "github.com/weft-hpc/weft/core"

// Share bounds want by a job's part of a NIC that other jobs use, too. The services in there are those of all NICs,
// with those that are about to be made.
//
// The hardware keeps a reservation only if it lies in a pool. The driver serves a service up to its max from all free
// objects, reserved or not (cass_alloc_resource in cass_rgroup.c of 13.0.0 to 14.0.1, cxi_alloc_resource in cass_svc.c
// of 12.0). So a reservation holds only while the max of all services together is within the device's total. A service
// keeps its limits until it ends, so the first job must leave room for later ones:
//   - max is at most the job's share of the objects that the system's services leave, and at most the room that is
//     left;
//   - reserved is at most the share; a warning says where other services may use it up;
//   - the share is never below the floor.
//
// A job whose part is zero is alone and gets what it wants. Any other job may have neighbours. Its share is all that
// the system's services leave if its part has no total, or has as many cores as the total.
func Share(
	want core.Limits, floor Floor, part core.Share, dev core.Device, there []core.Service,
) (core.Limits, []Warning) {
	if part.Cores <= 0 {
		return want, nil
	}
	part.Total = max(part.Total, part.Cores)
	var warnings []Warning
	got := want
	for r, has := range dev.Capacity {
		if has.Pooled {
			continue
		}
		system, others := taken(there, dev.Name, core.Resource(r))
		total := int(has.Total)
		most := max(total-system, 0) * part.Cores / part.Total
		most = min(max(most, int(floor[r])), int(want[r].Max))
		got[r].Reserved = min(want[r].Reserved, uint16(most))
		reserved := int(got[r].Reserved)
		got[r].Max = uint16(max(min(most, total-others), reserved))
		w := Warning{Device: dev.Name, Resource: core.Resource(r), Want: want[r], Got: got[r], Share: true}
		if w.Unsure = reserved > 0 && others+reserved > total; w.Unsure || got[r].Reserved < want[r].Reserved {
			warnings = append(warnings, w)
		}
	}
	return got, warnings
}

// taken counts the objects of a resource that the services of a device have or may get: the system's, and all.
func taken(there []core.Service, device string, r core.Resource) (system, all int) {
	for i := range there {
		s := &there[i]
		if s.Device != device {
			continue
		}
		n := s.InUse[r]
		if s.Enabled {
			n = max(n, s.Limits[r].Max)
		}
		all += int(n)
		if s.System || s.Default {
			system += int(n)
		}
	}
	return system, all
}
