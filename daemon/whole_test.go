package daemon

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/server"
)

var wholeRows = flag.String("whole", "", "write the figures of BenchmarkWhole into this file")

// A storm of small jobs, next to one job of the whole system.
const smallJobs, smallCallers = 10_000, 64

// BenchmarkWhole takes systems of up to 62,500 nodes, which have 250,000 endpoints, through their life. All nodes
// connect at once. One job of all nodes begins next to a storm of 10,000 jobs of one node. Then all jobs end. A node is
// a caller with its own session over gRPC with certificates, without NICs. All nodes share this machine's cores.
//
// docs/whole_test.go draws the file that -whole writes.
func BenchmarkWhole(b *testing.B) {
	b.Cleanup(noLimit)
	rows := []string{"# nodes connect-s connect-cpu-s job-s small-jobs-s jobs-cpu-s clean-s idle-MiB peak-MiB"}
	for _, n := range []int{1000, 4000, elCapitan, 32_000, 62_500} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			for b.Loop() {
				rows = append(rows, measureWhole(b, n))
			}
		})
	}
	if *wholeRows != "" {
		if err := os.WriteFile(*wholeRows, []byte(strings.Join(rows, "\n")+"\n"), 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

// measureWhole gives a row of figures.
func measureWhole(b *testing.B, n int) (row string) {
	b.Helper()
	limitMemory(n) // as Server does
	forgetPeak()
	empty := held()
	sched := bigBatch(n)
	sched.big = 1
	names := make([]string, n)
	for i := range names {
		names[i] = nodeName(i)
	}
	s := openStation(b, sched, func(needs *server.Needs) {
		needs.Config.Nodes, needs.Config.System.Nodes = names, n
		needs.Limits = server.Limits{Tick: time.Second} // as it is by default
	})
	defer func() { s.stop() }()
	all := s.launch(b, "callers", n)
	defer all.end()
	began := cpu()
	there := s.connect(b, all, n)
	greeted := cpu() - began
	idle := held() - empty
	began = cpu()
	t, small := all.whole(b)
	busy := cpu() - began
	ended := time.Now()
	s.sched.end(0, 1+smallJobs)
	// More often, the looks would take all time.
	s.until(b, 200*time.Millisecond, func(m *engine.Machine) bool { return taken(m) == 0 })
	clean := time.Since(ended)
	resident := peak(b)
	for unit, v := range map[string]float64{
		"s-to-connect": there.Seconds(), "server-cpu-s-to-connect": greeted.Seconds(), "s-job": t.last.Seconds(),
		"s-small-jobs": small.Seconds(), "server-cpu-s": busy.Seconds(), "s-clean-up": clean.Seconds(),
		"idle-MiB": mib(idle), "peak-RSS-MiB": mib(resident),
	} {
		b.ReportMetric(v, unit)
	}
	return fmt.Sprintf("%d\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.0f\t%.0f", n, there.Seconds(), greeted.Seconds(),
		t.last.Seconds(), small.Seconds(), busy.Seconds(), clean.Seconds(), mib(idle), mib(resident))
}

// whole has every node ask for job 0 at once, while some callers ask for the small jobs on the first fleet's nodes.
func (all fars) whole(b *testing.B) (t storms, small time.Duration) {
	b.Helper()
	first := fmt.Sprintf("whole 1 %d %d", 1+smallJobs, smallCallers)
	all[0].say(b, first)
	all[1:].ask(b, 0)
	var took, spent int64
	t = all.stormed(b, first, &took, &spent)
	return t, time.Duration(took)
}
