package sim_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/limits"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
	"pgregory.net/rapid"
)

// A NIC of each release gives a service the limits that Fit made for it: the agent refuses a service with others.
func TestFittedLimitsStand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := kernel.New(rapid.SampledFrom(kernel.Behaviours()).Draw(t, "release"))
		for vni := core.VNI(100); vni < 106; vni++ {
			var want core.Limits
			for r := range want {
				most := rapid.Uint16Range(0, 500)
				want[r] = core.Limit{Reserved: most.Draw(t, "reserved"), Max: most.Draw(t, "max")}
			}
			got, _, err := limits.Fit(want, limits.Floor{}, core.Device{Name: "cxi0", Capacity: n.Capacity()})
			if err != nil {
				return
			}
			spec := core.ServiceSpec{
				Device: "cxi0", Owner: core.UID(1000), VNIs: []core.VNI{vni}, Classes: core.BestEffort, Limits: got,
			}
			if c := sim.CreateOn(&n, spec); c.Err != nil || c.Service.Limits != got {
				t.Fatalf("%+v: %v: it has %+v", got, c.Err, c.Service.Limits)
			}
		}
	})
}

// TestNoEntryLeft: a NIC enables 256 profiles (see kerneltest). Where none is left, Weft blames no resource that the
// NIC has. 12.0 has no profiles.
func TestNoEntryLeft(t *testing.T) {
	for _, b := range kernel.Behaviours() {
		n := kernel.New(b)
		var refused error
		for vni := core.VNI(100); vni < 360 && refused == nil; vni += 4 {
			s := spec("cxi0", 1000, vni, vni+1, vni+2, vni+3)
			s.Limits = core.Limits{core.TXQ: {Max: 1, Reserved: 1}}
			refused = sim.CreateOn(&n, s).Err
		}
		if b == &kernel.R120 {
			if refused != nil {
				t.Errorf("SHS 12.0: %v", refused)
			}
			continue
		}
		if !errors.Is(refused, core.Exhausted) || !strings.Contains(refused.Error(), "no entry for its VNIs is left") {
			t.Errorf("SHS %s: %v: want that no entry is left", b.Release, refused)
		}
	}
}
