package daemon

import (
	"context"
	"testing"

	"github.com/weft-hpc/weft/core"
)

// BenchmarkRestart opens the store of a server that had 60,000 live reservations and was killed, loads it, and serves: a node comes back, and a job gets
// its VNI.
func BenchmarkRestart(b *testing.B) {
	const live, nodes = 60_000, 1024
	empty, _ := used()
	dir := b.TempDir()
	store := openBolt(b, dir)
	r := serve(b, store, newBatch(), nil)
	r.attend(b, nodes)
	r.reserve(b, 0, live, 64, nodes)
	shut := func() {
		b.Helper()
		r.stop()
		if err := store.Close(); err != nil {
			b.Fatal(err)
		}
	}
	shut()
	job := live
	var heap, peak uint64
	for b.Loop() {
		store = openBolt(b, dir)
		r = serve(b, store, newBatch(), nil)
		r.attend(b, 1)
		if _, err := r.Reserve(context.Background(), nodeName(0), askFor(job, core.Prepare, nodeName(0)), core.Peer{}); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		heap, _ = used()
		peak = max(peak, heap-min(heap, empty))
		job++
		shut()
		b.StartTimer()
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s-to-serving")
	b.ReportMetric(1, "budget-s")
	b.ReportMetric(mib(peak), "heap-MiB")
	b.ReportMetric(100, "budget-heap-MiB")
}
