package daemon

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkReserve makes reservations through server.Server with the shipped policy, beside so many live ones. Every reservation asks the scheduler, and
// is durable when it is answered.
func BenchmarkReserve(b *testing.B) {
	const round, nodes = 2000, 1024
	for _, st := range stores {
		for _, live := range []int{0, 10_000, 60_000} {
			b.Run(fmt.Sprintf("%s/live=%d", st.name, live), func(b *testing.B) {
				empty, _ := used()
				store := st.open(b, b.TempDir())
				r := serve(b, store, newBatch(), nil)
				defer func() {
					r.stop()
					_ = store.Close()
				}()
				r.attend(b, nodes)
				r.reserve(b, 0, live, 64, nodes)
				heap, _ := used()
				job := live
				for _, callers := range []int{1, 8, 64} {
					b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
						done := 0
						var spent time.Duration
						var commits uint64
						for b.Loop() {
							began, before := cpu(), r.revision(b)
							r.reserve(b, job, job+round, callers, nodes)
							spent += cpu() - began
							b.StopTimer()
							commits += r.revision(b) - before
							r.sched.end(job, job+round)
							r.settle(b, live)
							job += round
							done += round
							b.StartTimer()
						}
						b.ReportMetric(float64(done)/b.Elapsed().Seconds(), "reservations/s")
						b.ReportMetric(float64(spent.Microseconds())/float64(done), "cpu-µs/reservation")
						b.ReportMetric(float64(done)/float64(commits), "reservations/commit")
						if callers == 64 && st.name == "bolt" {
							b.ReportMetric(20_000, "budget-reservations/s")
						}
						if live == 60_000 {
							b.ReportMetric(mib(heap-empty), "heap-MiB")
							b.ReportMetric(100, "budget-heap-MiB")
						}
					})
				}
			})
		}
	}
}
