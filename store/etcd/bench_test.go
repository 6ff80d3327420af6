package etcd_test

import (
	"fmt"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/dev/etcdtest"
	"github.com/weft-hpc/weft/store/etcd"
	"github.com/weft-hpc/weft/store/storetest"
)

// BenchmarkCommit makes reservations, so many in one commit, in a store that has 10,000: on one member of etcd, and on
// three on this machine. Beside it, as "raw", stands the same number of bytes in a value that is put by itself.
func BenchmarkCommit(b *testing.B) {
	for _, members := range []int{1, 3} {
		all := etcdtest.StartMembers(b, members)
		client := all[0].Client()
		for _, n := range []int{1, 64, 1000} {
			size := 0
			b.Run(fmt.Sprintf("members=%d/%d", members, n), func(b *testing.B) {
				below := fmt.Sprintf("/%d/%d/", n, b.N)
				leader := etcdtest.Lead(b, client, below)
				s, err := etcd.Open(b.Context(), etcd.Options{Client: client, Prefix: below, Leader: leader})
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
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
				parts, err := client.Get(b.Context(), below+"part/", clientv3.WithPrefix(), clientv3.WithLimit(1),
					clientv3.WithSort(clientv3.SortByKey, clientv3.SortDescend))
				if err != nil {
					b.Fatal(err)
				}
				size = len(parts.Kvs[0].Value)
			})
			b.Run(fmt.Sprintf("members=%d/%d/raw", members, n), func(b *testing.B) {
				value := strings.Repeat("x", size)
				for i := 0; b.Loop(); i++ {
					if _, err := client.Put(b.Context(), fmt.Sprintf("/raw/%d", i), value); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "reservations/s")
				b.ReportMetric(float64(size), "bytes")
			})
		}
		for _, m := range all {
			m.Kill()
		}
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
