package daemon

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/drivers/sim"
)

// agents are n agents with simulated NICs and ledgers in memory, whose way to the server is a call.
type agents []*agent.Agent

func (r *running) agents(b *testing.B, n int) agents {
	b.Helper()
	all := make(agents, n)
	for i := range all {
		name := nodeName(i)
		all[i] = r.agent(b, agent.Needs{
			Node: name, Driver: sim.New(sim.Options{Boot: name}), Limits: agent.Limits{Driver: 5 * time.Minute},
		})
	}
	return all
}

// prepare has every agent asked at once to prepare the job. It gives how long it took until the first answered and until the last.
func (f agents) prepare(b *testing.B, job int) (first, last time.Duration) {
	// A hook's limit is longer here than any scheduler's: however loaded the machine is, what is measured is how long it takes.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	return crowd(b, len(f), func(i int) error {
		if out := f[i].Do(ctx, askFor(job, core.Prepare, ""), core.Peer{}); out.Err != nil {
			return out.Err
		}
		return nil
	})
}

// crowd does something n times at once, and gives when the first and the last was done.
func crowd(b *testing.B, n int, do func(int) error) (first, last time.Duration) {
	b.Helper()
	done := make([]time.Duration, n)
	errs := make([]error, n)
	var group sync.WaitGroup
	gate := make(chan struct{})
	for i := range n {
		group.Go(func() {
			<-gate
			errs[i] = do(i)
			done[i] = time.Duration(time.Now().UnixNano())
		})
	}
	began := time.Duration(time.Now().UnixNano())
	close(gate)
	group.Wait()
	first, last = done[0], done[0]
	for i := range n {
		if errs[i] != nil {
			b.Fatalf("node %d: %v", i, errs[i])
		}
		first, last = min(first, done[i]), max(last, done[i])
	}
	return first - began, last - began
}

// attached waits until so many nodes have reported.
func (r *running) attached(b testing.TB, want int) {
	b.Helper()
	every := max(20*time.Millisecond, time.Duration(want)*20*time.Microsecond) // the look takes as long as there are nodes
	r.until(b, every, func(m *engine.Machine) bool {
		n := 0
		for s := range m.Nodes("") {
			if s.Attached {
				n++
			}
		}
		return n == want
	})
}

// bigBatch is a scheduler whose jobs have n nodes.
func bigBatch(n int) *batch {
	s := newBatch()
	s.hosts, s.nodes, s.cores = fmt.Sprintf("n[00000-%05d]", n-1), n, 96
	return s
}

// BenchmarkBigJob prepares a job on every node of El Capitan at once, on a store that is synced, and cleans it up.
//
// server: the nodes are callers, and what is measured is the server alone. system: they are agents that make services on 4 simulated NICs each, and all of
// them share this machine's cores.
func BenchmarkBigJob(b *testing.B) {
	b.Run("server", func(b *testing.B) {
		before := held()
		store := openBolt(b, b.TempDir())
		r := serve(b, store, bigBatch(elCapitan), nil)
		defer func() { r.stop(); _ = store.Close() }()
		r.attend(b, elCapitan)
		measureJob(b, r, before, "server", func(job int) (time.Duration, time.Duration) {
			return crowd(b, elCapitan, func(i int) error {
				_, err := r.Reserve(context.Background(), nodeName(i), askFor(job, core.Prepare, nodeName(i)), core.Peer{})
				return err
			})
		})
	})
	b.Run("system", func(b *testing.B) {
		before := held()
		store := openBolt(b, b.TempDir())
		r := serve(b, store, bigBatch(elCapitan), nil)
		defer func() { r.stop(); _ = store.Close() }()
		f := r.agents(b, elCapitan)
		r.attached(b, elCapitan)
		measureJob(b, r, before, "system", func(job int) (time.Duration, time.Duration) { return f.prepare(b, job) })
	})
}

func measureJob(b *testing.B, r *running, before uint64, what string, prepare func(job int) (first, last time.Duration)) {
	idle := held() - before
	var spread, clean, spent time.Duration
	var joined uint64
	job := 0
	for b.Loop() {
		began := cpu()
		first, last := prepare(job)
		spent += cpu() - began
		spread += last - first
		b.StopTimer()
		joined = max(joined, held()-before)
		ended := time.Now()
		r.sched.end(job, job+1)
		r.settle(b, 0)
		clean += time.Since(ended)
		job++
		b.StartTimer()
	}
	b.ReportMetric(spread.Seconds()/float64(job), "s-first-to-last")
	b.ReportMetric(2, "budget-s")
	b.ReportMetric(clean.Seconds()/float64(job), "s-clean-up")
	b.ReportMetric(float64(spent.Microseconds())/float64(job)/elCapitan, "cpu-µs/node")
	b.ReportMetric(mib(idle), what+"-idle-MiB")
	b.ReportMetric(mib(joined), what+"-MiB")
	if what == "server" {
		b.ReportMetric(1024, "budget-server-MiB")
	}
}
