package daemon

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"testing"
	"time"
)

// BenchmarkRemoteReserve makes reservations over gRPC with certificates, as agents do. Each node has its own connection
// and session, in a second process that shares this machine's cores. server-cpu is the server's part of them.
func BenchmarkRemoteReserve(b *testing.B) {
	const round, nodes = 4000, 256 // so many nodes that none comes near its bound of calls a second
	limitMemory(nodes)
	b.Cleanup(noLimit)
	s := openStation(b, newBatch(), nil)
	defer func() { s.stop() }()
	all := s.launch(b, "callers", nodes)
	s.connect(b, all, nodes)
	job := 0
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			done := 0
			var took, spent, theirs, synced time.Duration
			var commits int64
			for b.Loop() {
				var t, c int64
				began, count, sync := cpu(), s.meter.count.Load(), s.meter.took.Load()
				all[0].tell(b, fmt.Sprintf("reserve %d %d %d", job, job+round, callers), &t, &c)
				spent += cpu() - began
				commits, synced = commits+s.meter.count.Load()-count, synced+time.Duration(s.meter.took.Load()-sync)
				took, theirs = took+time.Duration(t), theirs+time.Duration(c)
				b.StopTimer()
				s.sched.end(job, job+round)
				s.settle(b, 0)
				job += round
				done += round
				b.StartTimer()
			}
			b.ReportMetric(float64(done)/took.Seconds(), "reservations/s")
			b.ReportMetric(float64(spent.Microseconds())/float64(done), "server-cpu-µs/reservation")
			b.ReportMetric(float64(done)/float64(commits), "reservations/commit")
			b.ReportMetric(synced.Seconds()/took.Seconds(), "of-the-time-in-commits")
			b.ReportMetric(float64(theirs.Microseconds())/float64(done), "callers-cpu-µs/reservation")
			if callers == 64 {
				b.ReportMetric(8000, "budget-reservations/s")
			}
		})
	}
}

func noLimit() {
	debug.SetMemoryLimit(math.MaxInt64)
	debug.SetGCPercent(100)
}

// BenchmarkRemoteBigJob prepares a job on every node of El Capitan at once, over gRPC with certificates. The sessions
// begin before. The nodes are in a second process that shares this machine's cores: callers that only ask, or agents
// with 4 simulated NICs each.
func BenchmarkRemoteBigJob(b *testing.B) {
	for _, kind := range []string{"callers", "agents"} {
		b.Run(kind, func(b *testing.B) {
			limitMemory(elCapitan) // as Server does
			b.Cleanup(noLimit)
			forgetPeak()
			empty := held()
			s := openStation(b, bigBatch(elCapitan), nil)
			defer func() { s.stop() }()
			all := s.launch(b, kind, elCapitan)
			began, before := cpu(), all.spent(b)
			there := s.connect(b, all, elCapitan)
			greeted, theirs := cpu()-began, all.spent(b)-before
			idle := held() - empty
			var sum storms
			var spent time.Duration
			var joined, resident uint64
			job := 0
			for b.Loop() {
				began := cpu()
				t := all.storm(b, job, func() {})
				spent += cpu() - began
				sum.first, sum.last, sum.ready, sum.spent = sum.first+t.first, sum.last+t.last, sum.ready+t.ready, sum.spent+t.spent
				b.StopTimer()
				resident = max(resident, peak(b))
				joined = max(joined, held()-empty)
				s.sched.end(job, job+1)
				s.settle(b, 0)
				job++
				b.StartTimer()
			}
			n := float64(job)
			b.ReportMetric((sum.last-sum.first).Seconds()/n, "s-first-to-last")
			b.ReportMetric(2, "budget-s")
			b.ReportMetric(sum.last.Seconds()/n, "s-all-answered")
			b.ReportMetric(sum.ready.Seconds()/n, "s-all-ready")
			b.ReportMetric(there.Seconds(), "s-to-connect")
			b.ReportMetric(greeted.Seconds(), "server-cpu-s-to-connect")
			b.ReportMetric(theirs.Seconds(), "nodes-cpu-s-to-connect")
			b.ReportMetric(spent.Seconds()/n, "server-cpu-s")
			b.ReportMetric(sum.spent.Seconds()/n, "nodes-cpu-s")
			b.ReportMetric(mib(idle), "idle-MiB")
			b.ReportMetric(mib(joined), "joined-MiB")
			b.ReportMetric(mib(resident), "peak-RSS-MiB")
			b.ReportMetric(1024, "budget-RSS-MiB")
		})
	}
}

// forgetPeak has the most that this process had in memory begin at what it has now.
func forgetPeak() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// peak is the most that this process ever had in memory, in bytes.
func peak(b *testing.B) uint64 {
	b.Helper()
	return 1024 * statusField(b, "self", "VmHWM:")
}

// statusField is a number of /proc/PID/status, in its unit.
func statusField(b *testing.B, pid, name string) uint64 {
	b.Helper()
	f, err := os.Open("/proc/" + pid + "/status")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var key string
		var n uint64
		if _, err := fmt.Sscan(lines.Text(), &key, &n); err == nil && key == name {
			return n
		}
	}
	b.Fatalf("/proc/%s/status has no %s", pid, name)
	return 0
}
