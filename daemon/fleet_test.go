package daemon

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/poll"
	"github.com/weft-hpc/weft/rpc"
	"github.com/weft-hpc/weft/store/storetest"
)

// fleet is the nodes of a benchmark in a process of their own, each with a connection and a session of its own: one process may not hold both ends of 11,136
// connections. It does what lines on its standard input say, and answers each with a line.
type fleet struct {
	nodes  int
	agents []*agent.Agent // none: the nodes are callers that do nothing but ask
	to     []*timed
}

// What a fleet's process is told in its environment.
const (
	fleetAddress = "WEFT_FLEET_ADDRESS"
	fleetTLS     = "WEFT_FLEET_TLS"
	fleetNodes   = "WEFT_FLEET_NODES"
	fleetKind    = "WEFT_FLEET_KIND" // agents or callers
)

// timed is a node's way to the server, which notes when its newest Reserve was answered.
type timed struct {
	core.Authority
	answered time.Time
}

func (t *timed) Reserve(ctx context.Context, node string, ask core.Intent, peer core.Peer) (core.Grant, error) {
	g, err := t.Authority.Reserve(ctx, node, ask, peer)
	t.answered = time.Now()
	return g, err
}

// actAs makes the test's own binary the fleet.
const actAs = "DAEMON_TEST_ACT_AS"

func TestMain(m *testing.M) {
	if os.Getenv(actAs) == "fleet" {
		runFleet()
		return
	}
	goleak.VerifyTestMain(m)
}

// runFleet is the process.
func runFleet() {
	n, _ := strconv.Atoi(os.Getenv(fleetNodes))
	f := &fleet{nodes: n, to: make([]*timed, n)}
	if err := f.connect(os.Getenv(fleetKind) == "agents"); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	fmt.Println("there")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var verb string
		var a, b, c int
		_, _ = fmt.Sscan(lines.Text(), &verb, &a, &b, &c)
		var answer string
		var err error
		switch verb {
		case "storm":
			answer, err = f.storm(a)
		case "reserve":
			answer, err = f.reserve(a, b, c)
		}
		if err != nil {
			answer = "failed: " + err.Error()
		}
		fmt.Println(answer)
	}
}

// connect makes every node's connection, and waits until the server has answered its first report.
func (f *fleet) connect(agents bool) error {
	ctx := context.Background()
	var there sync.WaitGroup
	slots := make(chan struct{}, 64) // certificates and handshakes at a time
	errs := make(chan error, f.nodes)
	for i := range f.to {
		there.Add(1)
		slots <- struct{}{}
		go func() {
			var conn *grpc.ClientConn
			conn, err := connect(os.Getenv(fleetTLS), os.Getenv(fleetAddress), nodeName(i))
			if err != nil {
				errs <- err
				there.Done()
				<-slots
				return
			}
			f.to[i] = &timed{Authority: rpc.NewAuthority(conn)}
			greeted := sync.OnceFunc(func() { there.Done(); <-slots })
			if agents {
				greeted()
				return
			}
			attend(ctx, f.to[i], nodeName(i), greeted)
		}()
	}
	there.Wait()
	select {
	case err := <-errs:
		return err
	default:
	}
	if !agents {
		return nil
	}
	f.agents = make([]*agent.Agent, f.nodes)
	for i := range f.agents {
		a, err := agent.New(ctx, agent.Needs{
			Node: nodeName(i), Boot: nodeName(i), Driver: sim.New(sim.Options{Boot: nodeName(i)}), Authority: f.to[i], Store: &storetest.Ledger{},
			Log: slog.New(slog.DiscardHandler), Limits: agent.Limits{Driver: 5 * time.Minute},
		})
		if err != nil {
			return err
		}
		f.agents[i] = a
		go func() { _ = a.Run(ctx) }()
	}
	return nil
}

// storm has every node ask for one job at once. It answers, in ns from the start: when the server had answered the first and the last, when the last node was
// ready, and this process's processor time.
func (f *fleet) storm(job int) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	errs := make([]error, f.nodes)
	var group sync.WaitGroup
	gate := make(chan struct{})
	for i := range f.nodes {
		group.Go(func() {
			<-gate
			if f.agents == nil {
				for again := true; again; { // a connection that a starved machine took for dead is made anew
					_, errs[i] = f.to[i].Reserve(ctx, "", askFor(job, core.Prepare, nodeName(i)), core.Peer{})
					again = core.AsError(errs[i]) != nil && core.AsError(errs[i]).Reason == core.ServerAway && poll.Pause(ctx, 100*time.Millisecond)
				}
			} else if out := f.agents[i].Do(ctx, askFor(job, core.Prepare, ""), core.Peer{}); out.Err != nil {
				errs[i] = out.Err
			}
		})
	}
	spent, began := cpu(), time.Now()
	close(gate)
	group.Wait()
	ready := time.Since(began)
	first, last := ready, time.Duration(0)
	for i, t := range f.to {
		if errs[i] != nil {
			return "", fmt.Errorf("node %d: %w", i, errs[i])
		}
		first, last = min(first, t.answered.Sub(began)), max(last, t.answered.Sub(began))
	}
	return fmt.Sprintf("%d %d %d %d", first, last, ready, cpu()-spent), nil
}

// reserve makes reservations for jobs from to to-1 by so many callers, on the nodes in turn. It answers how long that took.
func (f *fleet) reserve(from, to, callers int) (string, error) {
	var group sync.WaitGroup
	errs := make(chan error, callers)
	spent, began := cpu(), time.Now()
	for c := range callers {
		group.Go(func() {
			for j := from + c; j < to; j += callers {
				g, err := f.to[j%f.nodes].Reserve(context.Background(), "", askFor(j, core.Prepare, nodeName(j%f.nodes)), core.Peer{})
				if err != nil || len(g.VNIs) != 1 {
					errs <- fmt.Errorf("job %d: %v %w", j, g.VNIs, err)
					return
				}
			}
		})
	}
	group.Wait()
	select {
	case err := <-errs:
		return "", err
	default:
		return fmt.Sprintf("%d %d", time.Since(began), cpu()-spent), nil
	}
}

// far is a fleet as the benchmark sees it.
type far struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// launch starts a fleet and waits until its nodes are there.
func (s *station) launch(b *testing.B, kind string, nodes int) *far {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), actAs+"=fleet", fleetAddress+"="+s.address, fleetTLS+"="+filepath.Join(s.dir, "tls"), fleetNodes+"="+strconv.Itoa(nodes), fleetKind+"="+kind)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	f := &far{cmd, in, bufio.NewReader(out)}
	if line, err := f.out.ReadString('\n'); err != nil || line != "there\n" {
		f.end()
		b.Fatalf("the nodes' process: %q %v", line, err)
	}
	s.attached(b, nodes)
	return f
}

// tell has the fleet do something, and scans its answer.
func (f *far) tell(b *testing.B, what string, into ...any) {
	b.Helper()
	if _, err := fmt.Fprintln(f.in, what); err != nil {
		b.Fatal(err)
	}
	line, err := f.out.ReadString('\n')
	if err != nil {
		b.Fatalf("%s: %v", what, err)
	}
	if _, err := fmt.Sscan(line, into...); err != nil {
		b.Fatalf("%s: %s", what, line)
	}
}

func (f *far) end() {
	_ = f.in.Close()
	_ = f.cmd.Process.Kill()
	_ = f.cmd.Wait()
}

// BenchmarkRemoteReserve makes reservations over gRPC with certificates, as agents do: each node has its own connection and session, in a second process that
// shares this machine's cores. server-cpu is what the server's process takes of them.
func BenchmarkRemoteReserve(b *testing.B) {
	const round, nodes = 4000, 256 // so many nodes that none comes near its bound of calls a second
	s := openStation(b, newBatch(), nil)
	defer s.stop()
	f := s.launch(b, "callers", nodes)
	defer f.end()
	job := 0
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			done := 0
			var took, spent, theirs, synced time.Duration
			var commits int64
			for b.Loop() {
				var t, c int64
				began, count, sync := cpu(), s.meter.count.Load(), s.meter.took.Load()
				f.tell(b, fmt.Sprintf("reserve %d %d %d", job, job+round, callers), &t, &c)
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

// BenchmarkRemoteBigJob prepares a job on every node of El Capitan at once, over gRPC with certificates. Connections are made before; the nodes are in a second
// process that shares this machine's cores: callers that do nothing but ask, or agents with 4 simulated NICs each.
func BenchmarkRemoteBigJob(b *testing.B) {
	for _, kind := range []string{"callers", "agents"} {
		b.Run(kind, func(b *testing.B) {
			limitMemory(elCapitan) // as Server does
			b.Cleanup(func() { debug.SetMemoryLimit(math.MaxInt64) })
			empty := held()
			s := openStation(b, bigBatch(elCapitan), nil)
			defer s.stop()
			began := time.Now()
			f := s.launch(b, kind, elCapitan)
			defer f.end()
			there := time.Since(began)
			idle := held() - empty
			var spread, all, ready, spent, theirs time.Duration
			var joined, resident uint64
			job := 0
			for b.Loop() {
				var first, last, done, c int64
				began := cpu()
				f.tell(b, fmt.Sprintf("storm %d", job), &first, &last, &done, &c)
				spent += cpu() - began
				spread, all, ready = spread+time.Duration(last-first), all+time.Duration(last), ready+time.Duration(done)
				theirs += time.Duration(c)
				b.StopTimer()
				resident = max(resident, peak(b))
				joined = max(joined, held()-empty)
				s.sched.end(job, job+1)
				s.settle(b, 0)
				job++
				b.StartTimer()
			}
			n := float64(job)
			b.ReportMetric(spread.Seconds()/n, "s-first-to-last")
			b.ReportMetric(2, "budget-s")
			b.ReportMetric(all.Seconds()/n, "s-all-answered")
			b.ReportMetric(ready.Seconds()/n, "s-all-ready")
			b.ReportMetric(there.Seconds(), "s-to-connect")
			b.ReportMetric(spent.Seconds()/n, "server-cpu-s")
			b.ReportMetric(theirs.Seconds()/n, "nodes-cpu-s")
			b.ReportMetric(mib(idle), "idle-MiB")
			b.ReportMetric(mib(joined), "joined-MiB")
			b.ReportMetric(mib(resident), "peak-RSS-MiB")
			b.ReportMetric(1024, "budget-RSS-MiB")
		})
	}
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
