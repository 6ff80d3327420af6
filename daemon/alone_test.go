package daemon

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/store/bolt"
	"github.com/weft-hpc/weft/store/memory"
)

// BenchmarkIdle watches agents that have a session with the server and nothing to do.
//
// cpu: agents of an El Capitan share this process, so the figure is that of an agent's own wake-ups and its share of the server's and the collector's work.
// memory: one agent with its ledger and its NICs, after some jobs, in a process of its own; the server is in it too, so an agent alone has less.
func BenchmarkIdle(b *testing.B) {
	b.Run("cpu", func(b *testing.B) {
		r := serve(b, memory.New(), newBatch(), nil)
		defer r.stop()
		r.agents(b, elCapitan)
		r.attached(b, elCapitan)
		used()
		var spent, passed time.Duration
		for b.Loop() {
			began, now := cpu(), time.Now()
			<-time.After(5 * time.Second) // it is the time itself that is watched
			spent += cpu() - began
			passed += time.Since(now)
		}
		b.ReportMetric(100*spent.Seconds()/passed.Seconds()/elCapitan, "cpu-%/agent")
		b.ReportMetric(0.05, "budget-cpu-%")
	})
	b.Run("memory", func(b *testing.B) {
		var resident float64
		for b.Loop() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestAgentAlone$", "-test.count=1")
			cmd.Env = append(os.Environ(), alone+"=1")
			out, err := cmd.CombinedOutput()
			if err != nil {
				b.Fatalf("%v: %s", err, out)
			}
			if _, err := fmt.Sscanf(string(out), "RSS %g", &resident); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}
		b.ReportMetric(resident, "RSS-MiB")
		b.ReportMetric(40, "budget-RSS-MiB")
	})
}

// alone is set in the process that BenchmarkIdle starts.
const alone = "WEFT_AGENT_ALONE"

// TestAgentAlone takes an agent through some jobs, and says on standard output what its process has in memory then.
func TestAgentAlone(t *testing.T) {
	r := serve(t, memory.New(), newBatch(), nil)
	defer r.stop()
	dir := runDir(t)
	l, err := bolt.OpenLedger(filepath.Join(dir, "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a := r.agent(t, agent.Needs{
		Node: nodeName(0), Driver: sim.New(sim.Options{Dir: filepath.Join(dir, "nics"), Boot: nodeName(0), NoSync: true}),
		Store: l, Environ: filepath.Join(dir, "env"),
	})
	r.attached(t, 1)
	for job := range 100 {
		for _, action := range []core.Action{core.Prepare, core.CleanUp} {
			if out := a.Do(r.ctx, askFor(job, action, ""), core.Peer{}); out.Err != nil {
				t.Fatal(out.Err)
			}
		}
	}
	if os.Getenv(alone) != "" {
		debug.FreeOSMemory()
		fmt.Printf("RSS %g\n", mib(rss(t)))
	}
}

// rss is what this process has in memory, in bytes.
func rss(b testing.TB) uint64 {
	b.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Fatal(err)
	}
	var size, pages uint64
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		b.Fatalf("/proc/self/statm: %q: %v", text, err)
	}
	return pages * uint64(os.Getpagesize())
}
