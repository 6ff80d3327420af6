package etcd_test

import (
	"fmt"
	"testing"

	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/dev/etcdtest"
	"github.com/weft-hpc/weft/store/storetest"
)

// BenchmarkCommit makes reservations, so many in one commit, in a store that has 10,000.
func BenchmarkCommit(b *testing.B) {
	for _, n := range []int{1, 64, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			client := etcdtest.Start(b).Client()
			s := open(b, client, etcdtest.Lead(b, client, prefix))
			revision, serial := storetest.Fill(b, s, 10_000), uint64(10_000)
			for b.Loop() {
				batch := make([]engine.Record, 0, n+1)
				for range n {
					serial++
					batch = append(batch, storetest.Job(serial))
				}
				revision++
				commit(b, s, append(batch, meta(revision))...)
			}
			b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "reservations/s")
		})
	}
}

// BenchmarkRestart reads a store of 60,000 reservations with their phases and three more joins each, and loads it.
func BenchmarkRestart(b *testing.B) {
	const live = 60_000
	client := etcdtest.Start(b).Client()
	storetest.Fill(b, open(b, client, etcdtest.Lead(b, client, prefix)), live)
	for b.Loop() {
		n := 0
		if err := open(b, client, 0).Load(b.Context(), func(engine.Record) error { n++; return nil }); err != nil {
			b.Fatal(err)
		}
		if n != live*5+1 {
			b.Fatalf("%d records", n)
		}
	}
	b.ReportMetric(2, "budget-s")
}
