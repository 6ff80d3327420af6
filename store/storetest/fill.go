package storetest

import (
	"fmt"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// Job is a reservation of the common kind.
func Job(serial uint64) engine.Reservation {
	limits := core.Limits{}
	for i := range limits {
		limits[i] = core.Limit{Max: 1024, Reserved: 128}
	}
	run := core.Run{
		Key:         core.Key{JobID: core.JobID{Scheduler: "tioga", Job: fmt.Sprint(serial)}},
		Fingerprint: core.Fingerprint{UID: 1000 + uint32(serial%50), Submitted: 1764201600},
	}
	return engine.Reservation{
		Serial: serial,
		Job: core.Job{
			Run: run, GID: 100, User: fmt.Sprint("user", serial%50), Groups: []string{"users", "physics"},
			Account: "physics", Queue: "batch", Placements: []core.Placement{{Hosts: "tioga[11-14]", Nodes: 4, Cores: 64}},
		},
		VNIs: []engine.Taken{{VNI: core.VNI(1024 + serial%60000), Pool: "jobs", Name: "app"}},
		Grant: engine.Decision{
			VNIs: []engine.Wanted{{Name: "app", Pool: "jobs"}}, Classes: core.BestEffort | core.LowLatency,
			Limits: []core.Limits{limits}, Rules: []string{"default"},
			Policy: "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef",
		},
		First: engine.Join{Serial: serial, Node: "tioga11", Boot: "0b1d2c3e-0000-4000-8000-000000000011"},
	}
}

// Fill commits n reservations with their phases and three more joins each, in a store of id "a" and epoch 1. It gives
// the newest revision.
func Fill(t testing.TB, s engine.Store, n uint64) uint64 {
	t.Helper()
	revision := uint64(0)
	var batch []engine.Record
	for serial := uint64(1); serial <= n; serial++ {
		batch = append(batch, Job(serial), engine.Transition{Serial: serial, State: engine.Active})
		for i := range 3 {
			boot := fmt.Sprintf("0b1d2c3e-0000-4000-8000-0000000000%d", 12+i)
			batch = append(batch, engine.Join{Serial: serial, Node: fmt.Sprint("tioga", 12+i), Boot: boot})
		}
		if len(batch) > 5000 || serial == n {
			revision++
			batch = append(batch, engine.Meta{Head: core.Head{Store: "a", Epoch: 1, Revision: revision}})
			if err := s.Commit(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
			batch = batch[:0]
		}
	}
	return revision
}
