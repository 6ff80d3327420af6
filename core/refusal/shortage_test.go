package refusal_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/refusal"
)

type errno uint16

func (errno) Error() string { return "ENOSPC" }

// TestShort: the driver's 0 is a figure for the first resource that it stopped at (rsrc_available in cass_svc.c of
// 12.0.0, cass_rgroup.c of 14.0.1, fills it before it compares). A report of zeros that the list contradicts is of
// something else: alloc_rxtx_profiles in cass_svc.c of 13.0.0 fails before anything is filled.
func TestShort(t *testing.T) {
	spec := core.ServiceSpec{Device: "cxi0", VNIs: []core.VNI{100}}
	spec.Limits[core.PTE] = core.Limit{Max: 96, Reserved: 96}
	spec.Limits[core.TXQ] = core.Limit{Max: 32, Reserved: 32}
	type counts = [core.NumResources]uint16
	second := core.Shortage{Device: "cxi0", Resource: core.TXQ, Want: 32}
	enough := core.Shortage{Device: "cxi0", Want: 96, Have: 2000}
	for name, test := range map[string]struct {
		avail counts
		free  counts
		want  core.Shortage
	}{
		"none is left":          {counts{}, counts{core.TXQ: 500}, core.Shortage{Device: "cxi0", Want: 96}},
		"less is left":          {counts{core.PTE: 7}, counts{core.PTE: 7}, core.Shortage{Device: "cxi0", Want: 96, Have: 7}},
		"the second runs short": {counts{core.PTE: 96}, counts{core.PTE: 96}, second},
		"all is left":           {counts{}, counts{core.PTE: 2000, core.TXQ: 500}, enough},
	} {
		t.Run(name, func(t *testing.T) {
			var left core.Capacity
			for r, n := range test.free {
				left[r].Free = n
			}
			err := refusal.Short(&spec, left, refusal.FailInfo{Avail: test.avail}, errno(28))
			if diff := cmp.Diff([]core.Shortage{test.want}, err.Short); diff != "" {
				t.Errorf("%v: %s", err, diff)
			}
		})
	}
}
