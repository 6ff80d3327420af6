package agent_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// TestShareUnderContention: two jobs share a node, and the application of the first one takes everything that it can
// get. With shares the second job still gets all of its reservation. Without them the NIC has nothing left for it.
func TestShareUnderContention(t *testing.T) {
	resources := []core.Resource{core.PTE, core.TXQ, core.TGQ, core.EQ, core.CT, core.AC}
	for name, test := range map[string]struct {
		share  core.Share
		starts bool
	}{
		"guaranteed": {core.Share{Cores: 32, Total: 64}, true},
		"greedy":     {core.Share{}, false},
	} {
		for _, b := range kernel.Behaviours() {
			t.Run(name+" on "+b.Release, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := start(t)
					nics := sim.New(sim.Options{NICs: 1, Boot: "b", Release: b})
					r.driver.NICDriver = nics
					r.server.share = test.share
					for _, res := range resources {
						r.server.limits[res] = core.Limit{Max: 2048, Reserved: 100}
					}
					r.server.limits[core.LE] = core.Limit{Max: 16384, Reserved: 100}
					open := func(job string, uid uint32) (*sim.LNI, core.Service) {
						if out := r.Do(t.Context(), ask(core.Prepare, "s", job, uid), root); out.Err != nil {
							t.Fatal(out.Err)
						}
						services, err := nics.Services(t.Context())
						if err != nil {
							t.Fatal(err)
						}
						s := services[len(services)-1]
						lni, err := nics.Open(t.Context(), s.Device, s.ID, kernel.Caller{EUID: uid, EGID: uid})
						if err != nil {
							t.Fatal(err)
						}
						return lni, s
					}
					first, s := open("1", 7)
					taken := map[core.Resource]int{}
					for _, res := range resources {
						for first.Use(t.Context(), res, 1) == nil {
							taken[res]++
						}
						if taken[res]+1 != int(s.Limits[res].Max) { // one is taken with the LNI
							t.Errorf("%v: the first job took %d, and may have %d", res, taken[res]+1, s.Limits[res].Max)
						}
					}
					second, _ := open("2", 8)
					for _, res := range resources {
						err := second.Use(t.Context(), res, 99) // and the one that it opened with
						if test.starts && err != nil || !test.starts && !errors.Is(err, kernel.ENOSPC) {
							t.Errorf("%v: after %d of the first job's, the second's: %v", res, taken[res]+1, err)
						}
					}
				})
			})
		}
	}
}
