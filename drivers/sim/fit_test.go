package sim_test

import (
	"errors"
	"slices"
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

// TestTLEPools: three jobs of a node get TLEs, and the fourth and the fifth start without. A NIC has four pools of them
// (C_CQ_CFG_TLE_POOL_ENTRIES). The driver's default service has one (cass_svc_init in cass_svc.c of 12.0 to 14.0.1).
func TestTLEPools(t *testing.T) {
	for _, b := range kernel.Behaviours() {
		n := kernel.New(b)
		want := core.Limits{core.LE: {Max: 16384, Reserved: 16}, core.TLE: {Max: 2048, Reserved: 64}}
		var got []uint16
		var warned []string
		for vni := core.VNI(100); vni < 105; vni++ {
			fits, warnings, err := limits.Fit(want, limits.Floor{}, core.Device{Name: "cxi0", Capacity: n.Capacity()})
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range warnings {
				if w.Pool {
					warned = append(warned, w.String())
				}
			}
			made := sim.CreateOn(&n, core.ServiceSpec{
				Device: "cxi0", Owner: core.UID(1000), VNIs: []core.VNI{vni}, Classes: core.BestEffort, Limits: fits,
			})
			if made.Err != nil {
				t.Fatalf("SHS %s: %v", b.Release, made.Err)
			}
			got = append(got, made.Service.Limits[core.TLE].Reserved)
		}
		if want := []uint16{64, 64, 64, 0, 0}; !slices.Equal(got, want) {
			t.Errorf("SHS %s: jobs have %v TLEs, want %v", b.Release, got, want)
		}
		says := "NIC cxi0: tles: none instead of 64 reserved: the NIC has no pool left for them"
		if want := []string{says, says}; !slices.Equal(warned, want) {
			t.Errorf("SHS %s: %q, want %q", b.Release, warned, want)
		}
	}
}
