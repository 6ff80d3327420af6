package daemon

import (
	"net"
	"testing"
	"time"

	"github.com/weft-hpc/weft/poll"
)

// outage is how long no server answers: a lease, and the second until the next server leads.
const outage = 6 * time.Second

// BenchmarkFailover ends the server of an El Capitan, and starts another one in its place. Agents of every node, with 4
// simulated NICs each, have a hook that waits meanwhile: it asks for one job of all nodes. All connect at once, with a
// handshake each, since none has a connection to the new server. The agents share this machine's cores.
func BenchmarkFailover(b *testing.B) {
	limitMemory(elCapitan) // as Server does
	b.Cleanup(noLimit)
	s := openStation(b, bigBatch(elCapitan), nil)
	defer func() { s.stop() }()
	all := s.launch(b, "agents", elCapitan)
	s.connect(b, all, elCapitan)
	_, port, err := net.SplitHostPort(s.address)
	if err != nil {
		b.Fatal(err)
	}
	job := 0
	var granted, attached, spent, theirs time.Duration
	var resident uint64
	for b.Loop() {
		s.stop()
		asked := all.ask(b, job)
		poll.Pause(b.Context(), outage)
		forgetPeak()
		nodes, began, at := all.spent(b), cpu(), time.Now()
		s.open(b, "0.0.0.0:"+port)
		t := all.stormed(b, asked)
		s.attached(b, elCapitan)
		attached += time.Since(at)
		granted += t.began.Add(t.last).Sub(at)
		spent, theirs = spent+cpu()-began, theirs+all.spent(b)-nodes
		b.StopTimer()
		resident = max(resident, peak(b))
		s.sched.end(job, job+1)
		s.settle(b, 0)
		job++
		b.StartTimer()
	}
	n := float64(job)
	b.ReportMetric(granted.Seconds()/n, "s-all-granted")
	b.ReportMetric(10, "budget-s")
	b.ReportMetric(attached.Seconds()/n, "s-all-attached")
	b.ReportMetric(spent.Seconds()/n, "server-cpu-s")
	b.ReportMetric(theirs.Seconds()/n, "nodes-cpu-s")
	b.ReportMetric(mib(resident), "peak-RSS-MiB")
	b.ReportMetric(1024, "budget-RSS-MiB")
}
