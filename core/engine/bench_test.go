package engine

import (
	"fmt"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
)

// crowd is a world in which n jobs of one node each live on 1000 nodes.
func crowd(b *testing.B, n int) *world {
	w := newWorld(b, 64000)
	w.cfg.Pools[0].Quarantine = 0
	w.step(Configure{w.cfg})
	nodes := make([]string, 1000)
	for i := range nodes {
		nodes[i] = fmt.Sprintf("n%04d", i)
		w.attach(nodes[i])
	}
	for i := range n {
		node := nodes[i%len(nodes)]
		j := job(fmt.Sprint(i), node)
		in := w.ask(node, j)
		in.Said = NewSaid(w.now.Uptime, j, app(), Text{})
		w.m.Step(w.now, in)
	}
	if got := w.m.Figures().Used["jobs"]; got != n {
		b.Fatalf("%d VNIs are in use, want %d", got, n)
	}
	return w
}

// BenchmarkIdleTick lets time pass while nothing is to be done: what the writer does each second, however large the system is.
func BenchmarkIdleTick(b *testing.B) {
	for _, nodes := range []int{1000, 62_500} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			w := newWorld(b, 1000)
			for i := range nodes {
				w.attach(fmt.Sprintf("n%05d", i))
			}
			for b.Loop() {
				w.m.Step(w.now, Tick{})
			}
		})
	}
}

// BenchmarkStep takes a job of two nodes through its life, beside others that live on.
func BenchmarkStep(b *testing.B) {
	for _, live := range []int{0, 10_000, 60_000} {
		b.Run(fmt.Sprintf("live=%d", live), func(b *testing.B) {
			w := crowd(b, live)
			m := w.m
			number := uint64(1)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				j := job(fmt.Sprintf("b%d", i), "n[0001-0002]")
				in := w.ask("n0001", j)
				m.Step(w.now, in)
				in.Said = NewSaid(w.now.Uptime, j, app(), Text{})
				m.Step(w.now, in)
				m.Step(w.now, w.ask("n0002", j))
				w.now.Uptime += time.Microsecond
				m.Step(w.now, Answer{Scheduler: "slurm", Began: w.now.Uptime, Jobs: core.Jobs{Jobs: []core.JobStatus{{Run: j.Run, State: core.JobFinal}}}})
				number++
				clean := []core.Held{heldAs(core.HeldClean, j.Run)}
				m.Step(w.now, Report{"n0001", m.nodes["n0001"].session, core.Report{Number: number, Boot: w.boots["n0001"], Held: clean}})
				m.Step(w.now, Report{"n0002", m.nodes["n0002"].session, core.Report{Number: number, Boot: w.boots["n0002"], Held: clean}})
				if i%64 == 63 {
					m.Step(w.now, Tick{})
				}
			}
			m.Step(w.now, Tick{})
			if got := m.Figures().Used["jobs"]; got != live {
				b.Fatalf("%d VNIs are in use, want %d", got, live)
			}
		})
	}
}

// BenchmarkBigJob takes a job of El Capitan's size through its life; ns/node must not grow with the number of nodes.
func BenchmarkBigJob(b *testing.B) {
	for _, nodes := range []int{1392, 11136} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			w := newWorld(b, 100)
			names := make([]string, nodes)
			for i := range names {
				names[i] = fmt.Sprintf("n%05d", i)
				w.attach(names[i])
			}
			m := w.m
			number := uint64(1)
			for i := 0; b.Loop(); i++ {
				j := job(fmt.Sprintf("b%d", i), fmt.Sprintf("n[00000-%05d]", nodes-1))
				for k, n := range names {
					in := w.ask(n, j)
					if k == 0 {
						in.Said = NewSaid(w.now.Uptime, j, app(), Text{})
					}
					m.Step(w.now, in)
				}
				w.now.Uptime += time.Second
				m.Step(w.now, Answer{Scheduler: "slurm", Began: w.now.Uptime, Jobs: core.Jobs{Jobs: []core.JobStatus{{Run: j.Run, State: core.JobFinal}}}})
				number++
				for k, n := range names {
					m.Step(w.now, Report{n, m.nodes[n].session, core.Report{Number: number, Boot: w.boots[n], Held: []core.Held{heldAs(core.HeldClean, j.Run)}}})
					if k%1000 == 0 {
						w.now.Uptime += time.Second
						m.Step(w.now, Tick{})
					}
				}
				w.want(j.Run, Quarantined)
				w.now.Uptime += time.Hour
				m.Step(w.now, Tick{})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*nodes), "ns/node")
		})
	}
}

// BenchmarkTick lets a second pass while n reservations wait: to be clean, or for their quarantine to end.
func BenchmarkTick(b *testing.B) {
	for _, resting := range []bool{false, true} {
		b.Run(fmt.Sprintf("quarantined=%v", resting), func(b *testing.B) {
			w := crowd(b, 60_000)
			w.cfg.Pools[0].Quarantine = 1000 * time.Hour
			w.m.Step(w.now, Configure{w.cfg})
			w.now.Uptime += time.Second
			for _, r := range w.m.serials {
				w.m.Step(w.now, Answer{Scheduler: "slurm", Began: w.now.Uptime, Jobs: core.Jobs{Jobs: []core.JobStatus{{Run: r.Job.Run, State: core.JobFinal}}}})
			}
			if resting {
				for n := range w.boots {
					w.reboot(n)
				}
			}
			// Past the shortest quarantine every tick looks at all that rest; what Loop expects of the first ticks is then true of all.
			w.now.Uptime += time.Hour
			w.m.Step(w.now, Tick{})
			for b.Loop() {
				w.now.Uptime += time.Millisecond
				w.m.Step(w.now, Tick{})
			}
		})
	}
}

// BenchmarkComplete takes a complete answer that shows 60,000 jobs.
func BenchmarkComplete(b *testing.B) {
	w := crowd(b, 60_000)
	var jobs []core.JobStatus
	for _, r := range w.m.serials {
		jobs = append(jobs, running(r.Job.Run))
	}
	for b.Loop() {
		w.now.Uptime += time.Second
		w.m.Step(w.now, Answer{Scheduler: "slurm", Began: w.now.Uptime, Jobs: core.Jobs{Complete: true, Jobs: jobs}})
	}
}

// BenchmarkMemory measures what 60,000 live reservations take, allocator and all; the budget is 100 MiB.
func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		before := inUse()
		w := crowd(b, 60_000)
		after := inUse()
		b.ReportMetric(float64(after-before)/(1<<20), "MiB")
		b.ReportMetric(float64(after-before)/60_000, "B/live")
		runtime.KeepAlive(w)
	}
}

// TestSizeOfAReservation: a machine keeps 60,000 of them. Go allocates a struct with pointers of up to 1,016 B as 1,024, its header of 8 B
// included, and a larger one as 1,152 (runtime/malloc.go and internal/runtime/gc/sizeclasses.go of Go 1.26).
func TestSizeOfAReservation(t *testing.T) {
	if size := reflect.TypeFor[reservation]().Size(); size > 1016 {
		t.Errorf("a reservation takes %d B, want at most 1016", size)
	}
}

func inUse() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}
