package metrics_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/allocator"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/dev/schedulertest"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/mailbox"
	"github.com/weft-hpc/weft/metrics"
	"github.com/weft-hpc/weft/server"
	"github.com/weft-hpc/weft/store/memory"
	"github.com/weft-hpc/weft/store/storetest"
)

// token is the secret of every job's collective here.
const token = "s3cr3t-session-token"

// scheduler describes every job on both nodes, but for those that it does not know.
type scheduler struct{ schedulertest.Script }

func (s *scheduler) Describe(_ context.Context, key core.Key, _ []byte, _ core.Peer) (core.Job, error) {
	time.Sleep(40 * time.Millisecond)
	if key.Job == "404" {
		return core.Job{}, core.Errorf(core.JobUnknown, "job %s: slurmctld has none of that id", key)
	}
	uid := uint32(1000)
	if key.Job == "666" {
		uid = 666
	}
	return core.Job{
		Run:        core.Run{Key: key, Fingerprint: core.Fingerprint{UID: uid, Submitted: 1}},
		Placements: []core.Placement{{Hosts: "n[1-2]", Nodes: 2, Cores: 8}},
	}, nil
}

// hooks are an adapter's translating half: ARGS are the job and its owner's uid is in the environment's stead.
type hooks struct{}

func (hooks) Parse(_ context.Context, call core.HookCall) (core.Intent, error) {
	key := core.Key{JobID: core.JobID{Scheduler: "tioga", Job: call.Args[0]}}
	uid := uint32(1000)
	if call.Args[0] == "666" {
		uid = 666
	}
	switch call.Phase {
	case "prolog":
		return core.Intent{Action: core.Prepare, Key: key, UID: uid, Began: call.Began}, nil
	case "taskprolog":
		return core.Intent{Action: core.Environment, Key: key, UID: uid}, nil
	case "epilog":
		return core.Intent{Action: core.CleanUp, Key: key, UID: uid, Began: call.Began}, nil
	}
	return core.Intent{}, core.Errorf(core.BadCall, "phase %q: there is none of that name", core.Clip(call.Phase))
}

func (hooks) Render(_ context.Context, _ core.HookCall, out core.Outcome) (core.HookReply, error) {
	if out.Err != nil {
		return core.HookReply{Stderr: []byte(out.Err.Line()), Exit: 1}, nil
	}
	var b bytes.Buffer
	for _, v := range out.Environment {
		if !v.Unset {
			b.WriteString("export " + v.Name + "=" + v.Value + "\n")
		}
	}
	return core.HookReply{Stdout: b.Bytes()}, nil
}

// fabric stands between agent and server, and adds to each grant what a fabric manager would.
type fabric struct{ mailbox.Authority }

func (f fabric) Reserve(ctx context.Context, node string, ask core.Intent, peer core.Peer) (core.Grant, error) {
	g, err := f.Authority.Reserve(ctx, node, ask, peer)
	if err == nil {
		g.Collective = &core.Collective{JobID: ask.Key.Job, Token: token, URL: "https://fm.example", Addresses: 8, MinNodes: 2}
	}
	return g, err
}

// rules deny uid 666, and let nobody hold more than three VNIs; two quotas and a deny are tried out.
type rules struct{}

func (r rules) Judge(f engine.Facts) (engine.Decision, []engine.Denial) {
	if f.Job.UID == 666 {
		return r.Decide(f), []engine.Denial{{Name: "666", Enforce: engine.EnforceDeny}}
	}
	return r.Decide(f), []engine.Denial{{Name: "small jobs", Enforce: engine.EnforceDryRun}}
}

func (rules) Decide(f engine.Facts) engine.Decision {
	if f.Job.UID == 666 {
		return engine.Decision{Deny: core.Errorf(core.PolicyDenied, "policy: uid 666 gets nothing")}
	}
	return engine.Decision{
		VNIs: []engine.Wanted{{Name: "app", Pool: "jobs"}}, Classes: core.BestEffort, Policy: "5f2c", Collectives: 4,
		Quotas: []engine.Quota{
			{Name: "VNIs of a user", Subject: "user ann", Most: 3},
			{Name: "few", Subject: "all jobs", Most: 1, Enforce: engine.EnforceWarn},
			{Name: "few", Subject: "all jobs", Unit: engine.UnitAddresses, Most: 1, Enforce: engine.EnforceDryRun},
		},
		Limits: []core.Limits{{core.TXQ: {Max: 64, Reserved: 4}, core.PTE: {Max: 64, Reserved: 4}}},
	}
}

// driver lets a test break a call.
type driver struct {
	core.NICDriver
	mu  sync.Mutex
	err error
}

func (d *driver) Create(ctx context.Context, specs []core.ServiceSpec) ([]core.Created, error) {
	d.mu.Lock()
	err := d.err
	d.mu.Unlock()
	time.Sleep(4 * time.Millisecond)
	if err != nil {
		return nil, err
	}
	return d.NICDriver.Create(ctx, specs)
}

// buffer is a log that goroutines share.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// system is a server and the agent of n1, seen by everything that there is to see them by.
type system struct {
	t          *testing.T
	server     *server.Server
	agent      *agent.Agent
	verbs      *server.Verbs
	node       *agent.Verbs
	store      *storetest.Hooked
	disk       disk
	sched      *scheduler
	driver     *driver
	serverPage *metrics.Server
	agentPage  *metrics.Agent
	log, audit *buffer
	replies    string // what hooks were told
}

// start runs a system until the bubble's test ends.
func start(t *testing.T) *system {
	t.Helper()
	s := &system{
		t: t, store: &storetest.Hooked{Store: memory.New()}, sched: &scheduler{make(schedulertest.Script)}, log: &buffer{}, audit: &buffer{},
		driver: &driver{NICDriver: sim.New(sim.Options{NICs: 2, Boot: "b"})},
	}
	s.store.Before = s.disk.before
	ends := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	process := metrics.Process{Version: "1.0.0", Expiry: func() time.Time { return ends }}
	pools := []allocator.Pool{{Name: "jobs", Ranges: []allocator.Range{{First: 1024, Last: 1031}}}}
	s.serverPage = metrics.NewServer(metrics.ServerOptions{
		Several: func() metrics.Several {
			return metrics.Several{
				Leads: true, Leader: true, Changes: 2, Warm: true,
				Etcd: map[string]int64{"https://e1:2379": 25 << 20, "https://e2:2379": -1},
			}
		},
		Process: process, Schedulers: []string{"tioga", "idle"}, Sizes: func() map[string]int { return map[string]int{"jobs": 8} },
		Observed:   func() map[string]int { return map[string]int{"jobs": 3} },
		Refused:    func() bool { return true },
		NodeExpiry: func() time.Time { return time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC) },
		Store:      func() (int64, int64, error) { return 32768, 4096, nil },
	})
	process.Plugins = func() []metrics.Plugin {
		return []metrics.Plugin{{Kind: "driver", Name: "sim", State: "ready", Starts: 3, Deaths: 2}}
	}
	s.agentPage = metrics.NewAgent(metrics.AgentOptions{Process: process, Bypasses: func() (uint64, error) { return 2, nil }})
	log := slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	audit := slog.New(slog.NewJSONHandler(s.audit, &slog.HandlerOptions{ReplaceAttr: noTime}))
	var err error
	s.server, err = server.New(t.Context(), server.Needs{
		Store: s.store, Policy: rules{}, Log: log, Audit: audit, Meter: s.serverPage, Schedulers: map[string]core.SchedulerClient{"tioga": core.Dispatcher{Of: s.sched}},
		Allocator: func(engine.Config) (engine.Allocator, error) { return allocator.New(pools) },
		Config: engine.Config{
			Nodes: []string{"n1", "n2"}, Schedulers: []string{"tioga", "idle"}, Policy: engine.Text{Hash: "5f2c"},
			Pools: []engine.Pool{{Name: "jobs", Quarantine: time.Minute, Contains: func(v core.VNI) bool { return v >= 1024 && v <= 1031 }}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.serverPage.Watch(s.server)
	s.agent, err = agent.New(t.Context(), agent.Needs{
		Node: "n1", Boot: "b", Driver: s.driver, Hooks: map[string]core.Hooks{"tioga": hooks{}}, Authority: fabric{mailbox.Authority{Authority: s.server}}, Store: &storetest.Ledger{},
		Environ: t.TempDir(), Log: log, Audit: audit, Meter: s.agentPage,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.agentPage.Watch(s.agent)
	s.verbs = &server.Verbs{Server: s.server, Sizes: func() map[string]int { return map[string]int{"jobs": 8} }}
	s.node = &agent.Verbs{Agent: s.agent}
	ctx, cancel := context.WithCancel(t.Context())
	var both sync.WaitGroup
	both.Go(func() { _ = s.server.Run(ctx) })
	synctest.Wait()
	both.Go(func() { _ = s.agent.Run(ctx) })
	t.Cleanup(func() { cancel(); both.Wait() })
	synctest.Wait()
	return s
}

func noTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// hook runs one of n1's hooks and gives its exit code.
func (s *system) hook(phase, job string) int {
	s.t.Helper()
	reply, err := s.agent.Hook(s.t.Context(), core.HookCall{ID: "call-" + phase + "-" + job, Scheduler: "tioga", Phase: phase, Args: []string{job}, Peer: core.Peer{PID: 41}})
	if err != nil {
		s.t.Fatal(err)
	}
	synctest.Wait()
	s.replies += string(reply.Stdout)
	return reply.Exit
}

// answer is a complete answer of the scheduler, begun now.
func (s *system) answer(jobs ...core.JobStatus) {
	s.sched.Answer(jobs...)
	synctest.Wait()
}

func status(job string, state core.JobState) core.JobStatus {
	return core.JobStatus{
		Run: core.Run{Key: core.Key{JobID: core.JobID{Scheduler: "tioga", Job: job}}, Fingerprint: core.Fingerprint{UID: 1000, Submitted: 1}}, State: state,
	}
}

// play is a day of a small system: jobs that come and go, and most of what can go wrong.
func (s *system) play() {
	t := s.t
	t.Helper()
	second, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	unknown := core.Service{Device: "cxi0", ID: 9, Owner: core.UID(1001), VNIs: []core.VNI{1030}}
	go func() {
		defer close(left)
		_ = s.server.Attend(second, "n2", core.Report{Number: 1, Boot: "b2", Full: true, Devices: []string{"cxi0"}, Unknown: []core.Service{unknown}}, nil, func(core.Orders) {})
	}()
	synctest.Wait()
	expect := func(phase, job string, exit int) {
		t.Helper()
		if got := s.hook(phase, job); got != exit {
			t.Errorf("%s of job %s ended with %d, want %d", phase, job, got, exit)
		}
	}
	expect("prolog", "7", 0)
	expect("taskprolog", "7", 0)
	expect("prolog", "666", 1)
	expect("prolog", "404", 1)
	expect("evil", "7", 1)
	ask := core.Intent{Action: core.Prepare, Key: core.Key{JobID: core.JobID{Scheduler: "tioga", Job: "8"}}, UID: 1000, Boot: "b2", Call: "call-of-n2"}
	if _, err := s.server.Reserve(t.Context(), "n2", ask, core.Peer{PID: 42}); err != nil {
		t.Error(err)
	}
	ask.Key.Scheduler = "a user's own"
	if _, err := s.server.Reserve(t.Context(), "n2", ask, core.Peer{}); err == nil {
		t.Error("a scheduler that nobody declared was served")
	}
	leave()
	<-left
	time.Sleep(time.Second)
	s.answer(status("7", core.JobRunning), status("8", core.JobFinal))
	time.Sleep(4 * time.Minute) // n2 is away for too long: job 8 is held
	expect("prolog", "9", 0)
	expect("epilog", "7", 0)
	time.Sleep(time.Second)
	s.answer(status("7", core.JobFinal), status("9", core.JobRunning))
	time.Sleep(121 * time.Second) // its quarantine ends
	s.disk.set(errors.New("no space left on device"))
	expect("prolog", "10", 1)
	s.disk.set(nil)
	time.Sleep(59 * time.Second) // n1 does not read its NICs again yet, however long it paused before it came back
	s.driver.mu.Lock()
	s.driver.err = core.Errorf(core.NICFailed, "NIC cxi1: EIO")
	s.driver.mu.Unlock()
	expect("prolog", "11", 1)
	time.Sleep(10 * time.Second)
	s.verb(0, "drain", server.NodeArgs{Nodes: "n[1-2]", Reason: "new cables"})
	s.verb(0, "resume", server.NodeArgs{Nodes: "n2"})
	s.verb(0, "forget", server.JobArgs{Job: "8"})
	s.verb(0, "recover", server.NodeArgs{Nodes: "n2"})
	s.verb(0, "accept", server.NodeArgs{Nodes: "n1"})
	s.verb(1000, "forget", server.JobArgs{Job: "9", Confirmed: true})
	s.verb(0, "drain", server.NodeArgs{Nodes: "n7", Reason: "it is none"})
}

// disk takes its time, and can be full.
type disk struct {
	mu  sync.Mutex
	err error
}

func (d *disk) set(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
}

func (d *disk) before([]engine.Record) error {
	time.Sleep(2 * time.Millisecond)
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// verb calls the server as an operator would; what comes of it is in the audit.
func (s *system) verb(uid uint32, verb string, args any) {
	body, err := json.Marshal(args)
	if err != nil {
		s.t.Fatal(err)
	}
	_, _ = s.verbs.Handle(s.t.Context(), core.Peer{UID: uid, PID: 51}, hook.Request{ID: "call-" + verb, Verb: verb, Body: body})
	synctest.Wait()
}
