package bolt_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/bolt"
	"github.com/weft-hpc/weft/store/storetest"
)

// BenchmarkCommit makes reservations, so many in one commit, in a store that has 10,000.
func BenchmarkCommit(b *testing.B) {
	for _, c := range []struct{ n, starts int }{{1, 0}, {1, engine.MaxPast}, {64, 0}, {64, engine.MaxPast}, {1000, 0}} {
		name, n := fmt.Sprint(c.n), c.n
		if c.starts > 0 {
			name += fmt.Sprintf("/after %d starts", c.starts)
		}
		b.Run(name, func(b *testing.B) {
			var past []engine.Past
			for i := range uint64(c.starts) {
				past = append(past, engine.Past{Incarnation: (i + 1) * 0x9e3779b97f4a7c15, Epoch: i, Revision: i << 16})
			}
			s := open(b, filepath.Join(b.TempDir(), "weft.db"), bolt.Options{Witness: filepath.Join(b.TempDir(), "head")})
			revision, serial := storetest.Fill(b, s, 10_000), uint64(10_000)
			for b.Loop() {
				batch := make([]engine.Record, 0, n+1)
				for range n {
					serial++
					batch = append(batch, storetest.Job(serial))
				}
				revision++
				m := meta(revision)
				m.Past = past
				commit(b, s, append(batch, m)...)
			}
			b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "reservations/s")
		})
	}
}

// BenchmarkRestart opens a store of 60,000 reservations with their phases and three more joins each, and loads it.
func BenchmarkRestart(b *testing.B) {
	const live = 60000
	outer := b
	path := filepath.Join(b.TempDir(), "weft.db")
	s := open(b, path, bolt.Options{})
	storetest.Fill(b, s, live)
	shut(b, s)
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			_ = s.Close()
			b.StartTimer()
			s = open(outer, path, bolt.Options{})
		}
	})
	b.Run("load", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			n := 0
			if err := s.Load(b.Context(), func(engine.Record) error { n++; return nil }); err != nil {
				b.Fatal(err)
			}
			if n != live*5+1 {
				b.Fatalf("%d records", n)
			}
		}
		st, err := s.Stats()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(st.Bytes)/live, "bytes/reservation")
	})
}
