package allocator

import (
	"testing"

	"github.com/weft-hpc/weft/core"
)

// BenchmarkTake takes one VNI and gives the oldest back, with that many live: the engine's path of a job.
func BenchmarkTake(b *testing.B) {
	for _, bench := range []struct {
		name string
		live int
	}{{"live=0", 0}, {"live=10000", 10000}, {"live=60000", 60000}, {"live=all-but-one", 64511}} {
		b.Run(bench.name, func(b *testing.B) {
			a := jobs(b, "1024-65535")
			if bench.live > 0 {
				take(b, a, bench.live)
			}
			b.ReportAllocs()
			for b.Loop() {
				v, err := a.Take("jobs")
				if err != nil {
					b.Fatal(err)
				}
				a.Give(v)
			}
		})
	}
}

// BenchmarkScattered searches the one VNI never given of a pool, from its other end: the longest way of the word-wise scan.
func BenchmarkScattered(b *testing.B) {
	a := jobs(b, "1-65535")
	for v := 2; v < 65535; v++ {
		a.Hold(core.VNI(v))
	}
	a.Hold(2)
	b.ReportAllocs()
	p := a.byName["jobs"]
	p.cursor = 2
	for b.Loop() {
		if p.next() != 65535 {
			b.Fatal("the only one left is 65535")
		}
	}
}

// BenchmarkRestart loads 60,000 reservations.
func BenchmarkRestart(b *testing.B) {
	for b.Loop() {
		a := jobs(b, "1024-65535")
		for v := 1024; v < 61024; v++ {
			a.Hold(core.VNI(v))
		}
	}
}
