// Package agent is the loop and the effects around core/node: what runs on each node.
//
// One writer gathers inputs, Steps each, commits the records, and only then acts. Calls out (the NIC driver, the server, an adapter) run beside it, each
// with a deadline, and come back as inputs, so that one stuck part never stops the rest.
package agent

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/hook/rundir"
)

// Needs are what an Agent is made of.
type Needs struct {
	Node       string
	Boot       string // the node's boot id
	Hardware   string // as in core.Report
	Driver     core.NICDriver
	Hooks      map[string]core.Hooks           // adapters' translating halves, by label
	Schedulers map[string]core.SchedulerClient // adapters' other halves that run on this node; what they tell is forwarded
	Requeuers  map[string]core.SchedulerClient // adapters that can tell their scheduler from this node while the server is away
	Authority  core.Authority
	Store      node.Store
	Environ    string                                   // folder for the jobs' environments, Rundir.Environs(); empty: none is left
	Rundir     rundir.Dir                               // where the exempt list lies; empty: nobody is exempt
	First      *FirstStart                              // what schedulers have still to tell after the agent's first start in this boot; nil: nothing
	HookTable  rundir.Hooks                             // what weft-hook was told; empty: tasks are told nothing by the jobs' files
	Mode       func(scheduler string) Mode              // nil: every job is served
	Process    func(pid int32) (Process, error)         // nil: as /proc has it
	Ended      func(context.Context, node.Keeper) error // waits until a process has ended; nil: by a pidfd
	Degrade    func() bool                              // whether policy has on_failure = "degrade"; nil: it has not
	Log        *slog.Logger
	Audit      *slog.Logger // nil: its lines stand in Log, with the key audit
	Meter      Meter        // nil: nothing is counted
	Limits     Limits
	Machine    node.Config // Node and Boot are set from above
}

// Limits are the agent's bounds. Zero values are replaced by those of DefaultLimits.
type Limits struct {
	Queue     int
	Batch     int
	Commit    time.Duration
	Driver    time.Duration // that a driver's call may take
	Read      time.Duration // that a reading of the NICs may take: so long a hang can outlive its end
	Heard     time.Duration // that the server may take to note that a scheduler's half on this node asks
	Tell      time.Duration // that a scheduler may take to be told of a job while the server is away
	Hook      time.Duration // that a hook waits when its caller has no limit of his own
	Tick      time.Duration
	Retry     time.Duration // least pause before the server is tried again
	RetryMost time.Duration // the most, with half of it as jitter: so long an idle node may wait for a server that is back
	Call      time.Duration // that a scheduler's half on this node may take for what the server asks of it; less when the server says so
	Ran       time.Duration // after which the server is asked again whether jobs that ran here before Weft still do
	Reports   int           // that wait for one session
}

// DefaultLimits suit a compute node.
var DefaultLimits = Limits{
	Queue: 1024, Batch: 128, Commit: 10 * time.Second, Driver: 60 * time.Second, Read: 10 * time.Second, Heard: 10 * time.Second, Tell: 5 * time.Second, Hook: 8 * time.Second, Tick: time.Second,
	Retry: 100 * time.Millisecond, RetryMost: 4 * time.Second, Call: time.Minute, Ran: 10 * time.Minute, Reports: 128,
}

// Agent works one node.
type Agent struct {
	needs   Needs
	id      string // random: the server knows by it whether a newer session is of this process
	limits  Limits
	log     *slog.Logger
	audit   *slog.Logger
	meter   Meter
	began   time.Time
	queue   chan work
	done    chan struct{}
	slots   chan struct{} // of calls of schedulers' halves
	asks    chan struct{} // of the server's asks
	machine *node.Machine // the writer's alone
	start   []node.Action

	mu        sync.Mutex
	calls     map[uint64]chan core.Outcome // each holds one, and leaves the map before it gets it
	serial    uint64
	session   *session
	answered  chan struct{} // closed when the server answers the first report of a session
	outage    outage
	environs  environs
	untold    []string // schedulers of Needs.First
	hookTable atomic.Pointer[rundir.Hooks]
	beside    sync.WaitGroup
	ctx       context.Context
	lists     atomic.Pointer[Verbs]         // of which the server may see some
	devices   atomic.Pointer[[]core.Device] // as read last
	accepted  atomic.Pointer[[]string]      // NICs of this node, as the server told last
	twoHosts  atomic.Pointer[string]        // Orders.TwoHosts of the session
	bypasses  atomic.Uint64                 // uses that the audit has told of
	waiting   atomic.Int32                  // hooks that wait for the server
	ended     atomic.Bool                   // the server has still to learn that a job ended here
	news      atomic.Bool                   // of a server that leads now
	hurry     chan struct{}                 // holds one: another hook waits, or another job has ended
	held      map[node.Keeper]bool          // whose end is awaited
	watching  bool                          // the writer's: watchKeepers runs
}

// New loads the store. Run must be called for the agent to work.
func New(ctx context.Context, needs Needs) (*Agent, error) {
	if err := core.CheckName("node", needs.Node, core.MaxNodeName); err != nil {
		return nil, err
	}
	a := &Agent{needs: needs, id: rand.Text(), limits: core.OrDefault(needs.Limits, DefaultLimits), log: needs.Log, began: time.Now(), done: make(chan struct{}), calls: map[uint64]chan core.Outcome{}, held: map[node.Keeper]bool{}, hurry: make(chan struct{}, 1), answered: make(chan struct{})}
	if a.needs.Process == nil {
		a.needs.Process = readProcess
	}
	if a.needs.Ended == nil {
		a.needs.Ended = awaitEnd
	}
	if a.log == nil {
		a.log = slog.Default()
	}
	a.log = a.log.With(core.LogNode, needs.Node)
	a.outage.log = a.log
	a.audit = newAudit(needs, a.log)
	if a.meter = needs.Meter; a.meter == nil {
		a.meter = unmetered{}
	}
	a.queue = make(chan work, a.limits.Queue)
	a.SetHookTable(needs.HookTable)
	a.slots = make(chan struct{}, core.MaxSchedulerCalls)
	a.asks = make(chan struct{}, core.MaxNodeAsks)
	if needs.First != nil && needs.Rundir != "" {
		a.untold = needs.First.Untold
	}
	a.sweepEnvirons()
	return a, a.load(ctx)
}

// Run works until ctx ends; the store stays open. Services stay: they are their jobs', and the next start finds them again.
func (a *Agent) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a.mu.Lock()
	a.ctx = ctx
	a.mu.Unlock()
	a.act(a.start)
	a.start = nil
	a.keep()
	a.beside.Go(func() { a.link(ctx) })
	for name, sched := range a.needs.Schedulers {
		a.beside.Go(func() { a.watch(ctx, name, sched) })
	}
	a.write(ctx)
	cancel()
	close(a.done)
	a.beside.Wait()
	return nil
}

func (a *Agent) now() core.Moment {
	t := time.Now()
	return core.Moment{Uptime: t.Sub(a.began), Wall: t}
}

// Reread has the NICs read now, and what they show reported at once: the driver was started again, or configured anew.
func (a *Agent) Reread(ctx context.Context) error {
	return a.insist(ctx, work{in: node.Reread{}})
}
