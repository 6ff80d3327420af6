package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/allocator"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/daemon/connection"
	"github.com/weft-hpc/weft/identity"
	"github.com/weft-hpc/weft/metrics"
	"github.com/weft-hpc/weft/policy"
	"github.com/weft-hpc/weft/poll"
	"github.com/weft-hpc/weft/server"
	"github.com/weft-hpc/weft/store/bolt"
)

// Benchmarks of the daemons as they are over a network: with certificates, and the bounds of the server's port. Each reports its figure beside its budget of
// docs/benchmarks.md, which is in the same unit.

// elCapitan is how many nodes El Capitan has.
const elCapitan = 11136

func nodeName(i int) string { return fmt.Sprintf("n%05d", i) }

func jobKey(job int) core.Key {
	return core.Key{JobID: core.JobID{Scheduler: "batch", Job: strconv.Itoa(job)}}
}

func jobAsk(job int, node string) core.Intent {
	return core.Intent{Action: core.Prepare, Key: jobKey(job), UID: 1000, Boot: node}
}

// batch is a scheduler that answers at once: whatever job it is asked for is there, on hosts or on the node that asks.
type batch struct {
	hosts  string
	nodes  int
	change chan core.Jobs
}

func (s *batch) Describe(_ context.Context, key core.Key, _ []byte, from core.Peer) (core.Job, error) {
	hosts, nodes := s.hosts, s.nodes
	if hosts == "" {
		hosts, nodes = from.Node, 1
	}
	return core.Job{
		Run: core.Run{Key: key, Fingerprint: core.Fingerprint{UID: 1000, Submitted: 1}}, GID: 1000, User: "ann", Groups: []string{"phys"}, Account: "phys",
		Queue: "batch", Placements: []core.Placement{{Hosts: hosts, Nodes: nodes, Cores: 8}},
	}, nil
}

func (s *batch) Watch(ctx context.Context, tell func(core.Jobs) error) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case jobs := <-s.change:
			if err := tell(jobs); err != nil {
				return err
			}
		}
	}
}

func (s *batch) Fail(context.Context, core.Key, string) error { return nil }
func (s *batch) Drain(context.Context, string, string) error  { return nil }

// end says that jobs from to to-1 are over.
func (s *batch) end(from, to int) {
	var jobs core.Jobs
	for i := from; i < to; i++ {
		jobs.Jobs = append(jobs.Jobs, core.JobStatus{Run: core.Run{Key: jobKey(i), Fingerprint: core.Fingerprint{UID: 1000, Submitted: 1}}, State: core.JobFinal})
	}
	s.change <- jobs
}

// station is a server with its port for nodes, on a store that is synced.
type station struct {
	*server.Server
	sched   *batch
	meter   *commits
	dir     string // with the certificates' folder tls
	address string
	stop    func()
}

// commits counts the store's commits, and how long they took.
type commits struct {
	server.Meter
	count atomic.Int64
	took  atomic.Int64 // ns
}

func (c *commits) Committed(inputs int, reason core.Reason, took time.Duration) {
	c.count.Add(1)
	c.took.Add(int64(took))
	c.Meter.Committed(inputs, reason, took)
}

func openStation(b testing.TB, sched *batch) *station {
	b.Helper()
	dir := b.TempDir()
	files, _, findings := policy.Gather([]string{"../policy"})
	if findings != nil {
		b.Fatal(findings)
	}
	rules, findings := policy.Load(files, policy.Env{Pools: []string{"jobs"}, Schedulers: []string{"batch"}})
	if rules == nil {
		b.Fatal(findings)
	}
	store, err := bolt.Open(filepath.Join(dir, "server.db"), bolt.Options{Witness: filepath.Join(dir, "server.head")})
	if err != nil {
		b.Fatal(err)
	}
	meter := &commits{Meter: metrics.NewServer(metrics.ServerOptions{})}
	srv, err := server.New(b.Context(), server.Needs{
		Meter: meter, Store: store, Policy: rules, Log: slog.New(slog.DiscardHandler), Schedulers: map[string]core.SchedulerClient{"batch": core.Dispatcher{Of: sched}},
		Allocator: func(engine.Config) (engine.Allocator, error) {
			return allocator.New([]allocator.Pool{{Name: "jobs", Ranges: []allocator.Range{{First: 1024, Last: 65535}}}})
		},
		Limits: server.Limits{Tick: 20 * time.Millisecond},
		Config: engine.Config{
			Schedulers: []string{"batch"}, System: engine.System{Nodes: elCapitan}, Policy: engine.Text{Hash: rules.Hash(), Text: rules.Text()},
			Pools: []engine.Pool{{Name: "jobs", Contains: func(v core.VNI) bool { return v >= 1024 }}},
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := identity.Init(filepath.Join(dir, "tls"), []string{"127.0.0.1"}, time.Now()); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &station{Server: srv, sched: sched, meter: meter, dir: dir}
	var all sync.WaitGroup
	port, err := connection.Listen(config.Server{Listen: "127.0.0.1:0", TLS: filepath.Join(dir, "tls")}, connection.NewBounds(slog.New(slog.DiscardHandler)))
	if err != nil {
		b.Fatal(err)
	}
	s.address = port.Addr().String()
	all.Go(func() { _ = port.Serve(ctx, srv) })
	all.Go(func() { _ = srv.Run(ctx) })
	s.stop = func() {
		cancel()
		all.Wait()
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	}
	return s
}

// connect makes a node's connection as its agent does.
func connect(folder, address, node string) (*grpc.ClientConn, error) {
	if err := identity.IssueNode(folder, node, time.Now()); err != nil {
		return nil, err
	}
	certs, err := identity.Open(identity.Files{CA: filepath.Join(folder, identity.CAFile), Cert: filepath.Join(folder, node+".crt"), Key: filepath.Join(folder, node+".key")})
	if err != nil {
		return nil, err
	}
	return connection.Dial(address, certs)
}

// attend keeps the session of a node that does nothing but confirm whatever it is ordered to clean. greeted is closed when the server has answered.
func attend(ctx context.Context, to core.Authority, name string, greeted func()) {
	next := make(chan core.Report, 4)
	number := uint64(1)
	told := func(o core.Orders) {
		greeted()
		var held []core.Held
		for _, c := range o.Clean {
			held = append(held, core.Held{Run: c.Run, State: core.HeldClean})
		}
		if held == nil {
			return
		}
		number++
		select {
		case next <- core.Report{Number: number, Boot: name, Held: held}:
		case <-ctx.Done():
		}
	}
	for ctx.Err() == nil {
		number = 1
		_ = to.Attend(ctx, name, core.Report{Number: 1, Boot: name, Full: true, Devices: []string{"cxi0", "cxi1", "cxi2", "cxi3"}}, next, told)
		poll.Pause(ctx, 100*time.Millisecond)
	}
}

// until looks at the machine every so often until ok.
func (s *station) until(b testing.TB, every time.Duration, ok func(*engine.Machine) bool) {
	b.Helper()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for yes := false; !yes; <-tick.C {
		if err := s.Look(b.Context(), func(m *engine.Machine) { yes = ok(m) }); err != nil {
			b.Fatal(err)
		}
	}
}

func (s *station) settled(b testing.TB) {
	b.Helper()
	s.until(b, 2*time.Millisecond, func(m *engine.Machine) bool { return m.Figures().Used["jobs"] == 0 })
}

// cpu is the processor time that this process has taken so far.
func cpu() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// used is the memory in use once nothing more can be given up: the heap, and the stacks.
func used() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

func mib(bytes uint64) float64 { return float64(bytes) / (1 << 20) }
