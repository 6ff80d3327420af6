package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/allocator"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/dev/etcdtest"
	"github.com/weft-hpc/weft/dev/schedulertest"
	"github.com/weft-hpc/weft/mailbox"
	"github.com/weft-hpc/weft/policy"
	"github.com/weft-hpc/weft/server"
	"github.com/weft-hpc/weft/store/bolt"
	"github.com/weft-hpc/weft/store/etcd"
	"github.com/weft-hpc/weft/store/memory"
	"github.com/weft-hpc/weft/store/storetest"
)

// Benchmarks of the whole. Each reports its figure beside its budget of docs/benchmarks.md, which is in the same unit.

const scheduler = "batch"

// elCapitan is how many nodes El Capitan has.
const elCapitan = 11136

// owner is who has every job: whoever runs the benchmark, since the kernel says who calls.
var owner = uint32(os.Getuid())

// pools are those of the shipped config.hcl, without its rest: what a benchmark gives back is to be free at once.
func pools() []allocator.Pool {
	return []allocator.Pool{{Name: "jobs", Ranges: []allocator.Range{{First: 1024, Last: 65535}}}}
}

// shipped is the policy as it is shipped.
func shipped(b testing.TB) *policy.Policy {
	b.Helper()
	files, _, findings := policy.Gather([]string{"../policy"})
	if findings != nil {
		b.Fatal(findings)
	}
	p, findings := policy.Load(files, policy.Env{Pools: []string{"jobs"}, Schedulers: []string{scheduler}})
	if p == nil {
		b.Fatal(findings)
	}
	return p
}

// stores are the engine's stores by name, on files of b where there are any.
var stores = []struct {
	name string
	open func(b testing.TB, dir string) engine.Store
}{
	{"memory", func(testing.TB, string) engine.Store { return memory.New() }},
	{"bolt", func(b testing.TB, dir string) engine.Store { return openBolt(b, dir) }},
	{"etcd", func(b testing.TB, _ string) engine.Store { return openEtcd(b, 1) }},
	{"etcd-of-three", func(b testing.TB, _ string) engine.Store { return openEtcd(b, 3) }},
}

// openEtcd is a store in an etcd of so many members on this machine.
func openEtcd(b testing.TB, members int) engine.Store {
	b.Helper()
	client := etcdtest.StartMembers(b, members)[0].Client()
	s, err := etcd.Open(b.Context(), etcd.Options{Client: client, Prefix: "/weft/", Leader: etcdtest.Lead(b, client, "/weft/")})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func openBolt(b testing.TB, dir string) *bolt.Store {
	b.Helper()
	s, err := bolt.Open(filepath.Join(dir, "server.db"), bolt.Options{Witness: filepath.Join(dir, "server.head")})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// batch is a scheduler that answers at once: whatever job it is asked for is there, on the node that asks or on hosts.
type batch struct {
	hosts string
	big   int // how many jobs have hosts, from job 0 on; 0: all
	nodes int
	cores int
	schedulertest.Script
}

func newBatch() *batch { return &batch{nodes: 1, cores: 8, Script: make(schedulertest.Script)} }

func (s *batch) Describe(_ context.Context, key core.Key, _ []byte, from core.Peer) (core.Job, error) {
	hosts, nodes := s.hosts, s.nodes
	if n, _ := strconv.Atoi(key.Job); hosts == "" || s.big > 0 && n >= s.big {
		hosts, nodes = from.Node, 1
	}
	return core.Job{
		Run: runOf(key), GID: 1000, User: "ann", Groups: []string{"phys"}, Account: "phys", Queue: "batch",
		Placements: []core.Placement{{Hosts: hosts, Nodes: nodes, Cores: s.cores}},
	}, nil
}

func key(job int) core.Key {
	return core.Key{JobID: core.JobID{Scheduler: scheduler, Job: strconv.Itoa(job)}}
}
func runOf(k core.Key) core.Run {
	return core.Run{Key: k, Fingerprint: core.Fingerprint{UID: owner, Submitted: 1}}
}
func askFor(job int, action core.Action, boot string) core.Intent {
	return core.Intent{Action: action, Key: key(job), UID: owner, Boot: boot}
}
func over(job int) core.JobStatus { return core.JobStatus{Run: runOf(key(job)), State: core.JobFinal} }
func nodeName(i int) string       { return fmt.Sprintf("n%05d", i) }

// end says that jobs from to to-1 are over.
func (s *batch) end(from, to int) {
	var jobs core.Jobs
	for i := from; i < to; i++ {
		jobs.Jobs = append(jobs.Jobs, over(i))
	}
	s.Script <- jobs
}

// running is a server with what is around it.
type running struct {
	*server.Server
	sched *batch
	ctx   context.Context // until stop
	stop  func()
	group sync.WaitGroup
}

// serve starts a server on st; change may be nil.
func serve(b testing.TB, st engine.Store, sched *batch, change func(*server.Needs)) *running {
	b.Helper()
	p := shipped(b)
	ps := pools()
	needs := server.Needs{
		Store: st, Policy: p, Log: slog.New(slog.DiscardHandler), Schedulers: map[string]core.SchedulerClient{scheduler: core.Dispatcher{Of: sched}},
		Allocator: func(engine.Config) (engine.Allocator, error) { return allocator.New(ps) },
		Limits:    server.Limits{Tick: 20 * time.Millisecond},
		Config: engine.Config{
			Schedulers: []string{scheduler}, System: engine.System{Nodes: elCapitan}, Policy: engine.Text{Hash: p.Hash(), Text: p.Text()},
			Pools: []engine.Pool{{Name: "jobs", Contains: func(v core.VNI) bool { return v >= 1024 }}},
		},
	}
	if change != nil {
		change(&needs)
	}
	srv, err := server.New(b.Context(), needs)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{Server: srv, sched: sched, ctx: ctx}
	r.group.Go(func() { _ = srv.Run(ctx) })
	r.stop = func() { cancel(); r.group.Wait() }
	return r
}

// way is the way to the server of agents in this process.
func (r *running) way() core.Authority { return mailbox.Authority{Authority: r.Server} }

// agent runs an agent until stop. Needs that name none get an empty ledger and the way in this process.
func (r *running) agent(b testing.TB, needs agent.Needs) *agent.Agent {
	b.Helper()
	needs.Boot, needs.Log = needs.Node, slog.New(slog.DiscardHandler)
	if needs.Authority == nil {
		needs.Authority = r.way()
	}
	if needs.Store == nil {
		needs.Store = &storetest.Ledger{}
	}
	a, err := agent.New(b.Context(), needs)
	if err != nil {
		b.Fatal(err)
	}
	r.group.Go(func() { _ = a.Run(r.ctx) })
	return a
}

// attend keeps the sessions of the first n nodes, which do nothing but confirm whatever they are ordered to clean.
func (r *running) attend(b testing.TB, n int) { r.attendFrom(b, 0, n) }

func (r *running) attendFrom(b testing.TB, from, to int) {
	b.Helper()
	var there sync.WaitGroup
	for i := from; i < to; i++ {
		there.Add(1)
		greet := sync.OnceFunc(there.Done)
		r.group.Go(func() { attend(r.ctx, r.way(), nodeName(i), greet) })
	}
	there.Wait()
}

// reserve makes reservations for jobs from to to-1 by so many callers, on so many nodes in turn.
func (r *running) reserve(b testing.TB, from, to, callers, nodes int) {
	var group sync.WaitGroup
	for c := range callers {
		group.Go(func() {
			for job := from + c; job < to; job += callers {
				node := nodeName(job % nodes)
				g, err := r.Reserve(context.Background(), node, askFor(job, core.Prepare, node), core.Peer{})
				if err != nil || len(g.VNIs) != 1 {
					b.Errorf("job %d: %v %v", job, g.VNIs, err)
					return
				}
			}
		})
	}
	group.Wait()
	if b.Failed() {
		b.FailNow()
	}
}

// until looks at the machine every so often until ok.
func (r *running) until(b testing.TB, every time.Duration, ok func(*engine.Machine) bool) {
	b.Helper()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for yes := false; ; <-tick.C {
		if err := r.Look(b.Context(), func(m *engine.Machine) { yes = ok(m) }); err != nil {
			b.Fatal(err)
		}
		if yes {
			return
		}
	}
}

// settle waits until so many VNIs are taken.
func (r *running) settle(b testing.TB, want int) {
	b.Helper()
	r.until(b, time.Millisecond, func(m *engine.Machine) bool { return taken(m) == want })
}

// taken counts the VNIs that are taken.
func taken(m *engine.Machine) int { return m.Figures().Used["jobs"] }

// confirmed waits until the server knows that every node of the job is clean.
func (r *running) confirmed(b testing.TB, job int) {
	b.Helper()
	r.until(b, 50*time.Microsecond, func(m *engine.Machine) bool {
		for _, v := range m.Job(key(job).JobID) {
			if v.Unclean > 0 {
				return false
			}
		}
		return true
	})
}

// revision counts the commits so far.
func (r *running) revision(b testing.TB) (n uint64) {
	b.Helper()
	if err := r.Look(b.Context(), func(m *engine.Machine) { n = m.Head().Revision }); err != nil {
		b.Fatal(err)
	}
	return n
}

// runDir is a folder for what a node keeps in its run directory: on a tmpfs, as there, where this machine has one at its usual place.
func runDir(b testing.TB) string {
	b.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "weft-bench-")
	if err != nil {
		b.Logf("no tmpfs, so a node's own files lie on the disk here: %v", err)
		return b.TempDir()
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// used is the memory in use once nothing more can be given up: the heap, and the stacks.
func used() (heap, stacks uint64) {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, m.StackInuse
}

// held is the heap and the stacks together.
func held() uint64 {
	heap, stacks := used()
	return heap + stacks
}

func mib(bytes uint64) float64 { return float64(bytes) / (1 << 20) }

// cpu is the processor time that this process has taken so far. On a machine that others work on too it says more than the clock.
func cpu() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
