package agent_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// TestStartsOnAFullNIC: jobs that start at the same time want more than the NICs have. Policy sets no floor, so each of
// them starts on each release, although others take resources between its reading and its creation.
func TestStartsOnAFullNIC(t *testing.T) {
	const jobs = 8
	for _, b := range kernel.Behaviours() {
		for _, tles := range []uint16{0, 1100} {
			t.Run(fmt.Sprintf("%s with %d tles", b.Release, tles), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := start(t)
					r.driver.NICDriver = sim.New(sim.Options{NICs: 2, Boot: "b", Release: b, Latency: time.Millisecond})
					r.server.limits = core.Limits{ // policy's for 1,100 cores
						core.PTE: {Max: 2048, Reserved: 2048}, core.TXQ: {Max: 1024, Reserved: 1024},
						core.TGQ: {Max: 512, Reserved: 512}, core.EQ: {Max: 2047, Reserved: 2047},
						core.CT: {Max: 2047, Reserved: 1100}, core.LE: {Max: 16384, Reserved: 16384},
						core.TLE: {Max: tles, Reserved: tles}, core.AC: {Max: 1022, Reserved: 1022},
					}
					for round := range 5 {
						var all sync.WaitGroup
						for job := range jobs {
							id := fmt.Sprint(round*jobs + job)
							all.Go(func() {
								if out := r.Do(t.Context(), ask(core.Prepare, "s", id, 7), root); out.Err != nil {
									t.Errorf("job %s: %v", id, out.Err)
								}
							})
						}
						all.Wait()
						for job := range jobs {
							id := fmt.Sprint(round*jobs + job)
							if out := r.Do(t.Context(), ask(core.CleanUp, "s", id, 7), root); out.Err != nil {
								t.Errorf("job %s: %v", id, out.Err)
							}
						}
					}
				})
			})
		}
	}
}
