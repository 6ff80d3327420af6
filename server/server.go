// Package server is the loop and the effects around core/engine: the one authority of a system.
//
// One writer gathers inputs, Steps each, commits all records at once, and only then acts. A failed commit throws the machine away and loads it anew.
// Nothing else touches the machine: every call out (a scheduler, a node) runs beside the writer, with a deadline, and comes back as an input.
package server

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/observe"
	"github.com/weft-hpc/weft/throttle"
)

// Needs are what a Server is made of.
type Needs struct {
	Store      engine.Store
	Allocator  func(engine.Config) (engine.Allocator, error) // a fresh one, with no VNI taken
	Config     engine.Config
	Policy     engine.Policy
	Schedulers map[string]core.SchedulerClient // by label, those whose half runs here
	At         map[string]string               // by label, the nodes where the halves of other schedulers run
	Own        []string                        // labels in Schedulers of whose jobs each node tells its own
	Witness    core.Head                       // the highest head known from outside the store
	Following  func() Following                // what a standby follows; nil: this server leads
	Leads      func() bool                     // whether no other server can lead now; nil: there is no other
	LeaveDown  bool                            // a store without a witness waits for no node that its schedulers call down
	Log        *slog.Logger
	Audit      *slog.Logger          // nil: its lines stand in Log, with the key audit
	History    History               // nil: none is kept
	Refused    []Refused             // of the last day, as a history has them, from the oldest on
	Kept       Kept                  // nil: the account of observed jobs ends with the server
	Sizes      func() map[string]int // VNIs of each pool, for that account
	Meter      Meter                 // nil: nothing is counted
	Limits     Limits
}

// Limits are the server's bounds. Zero values are replaced by those of DefaultLimits.
type Limits struct {
	Queue     int           // inputs that wait for the writer
	Batch     int           // inputs a commit
	Commit    time.Duration // that a commit may take
	Describe  time.Duration // that a scheduler may take to describe a job
	Describes int           // at a time, of each scheduler
	Tick      time.Duration
	Retry     time.Duration // least pause before a scheduler that failed is watched again
	RetryMost time.Duration
	Mirror    time.Duration // between two questions which nodes a scheduler has drained
	Scan      time.Duration // between two looks at the services of observed jobs
	Overlap   time.Duration // as in observe.Config
	Grace     time.Duration
}

// DefaultLimits suit a system of 11,136 nodes.
var DefaultLimits = Limits{
	Queue: 65536, Batch: 4096, Commit: 30 * time.Second, Describe: 6 * time.Second, Describes: 64, Tick: time.Second,
	Retry: 200 * time.Millisecond, RetryMost: 30 * time.Second, Mirror: 5 * time.Second,
	Scan: scanEvery, Overlap: observe.DefaultOverlap, Grace: observe.DefaultGrace,
}

// Server is the authority. It implements core.Authority.
type Server struct {
	needs      Needs
	limits     Limits
	schedulers map[string]core.SchedulerClient // those of needs, and those on nodes
	log        *slog.Logger
	meter      Meter
	auditor    *slog.Logger
	began      time.Time
	counted    once
	policy     atomic.Pointer[decider]
	shadow     atomic.Pointer[Shadow]
	observer   observer
	names      atomic.Pointer[names]
	visits     *throttle.Lines            // of sessions that begin and end
	strangers  *throttle.Lines            // of nodes that config.hcl does not name
	unshown    *throttle.Lines            // of grants that a scheduler's record does not show
	notes      map[string]chan core.Grant // that wait to be shown, by the scheduler that can
	queue      chan work
	done       chan struct{}            // closed when the writer has ended
	slots      map[string]chan struct{} // of describes, by scheduler: one that does not answer leaves the others theirs

	mu          sync.Mutex
	jobCalls    jobCalls
	nodeCalls   map[nodeCall]*nodeTold // the writer's: the newest word of a node, at most one a node and scheduler
	firstStarts firstStarts
	silence     silence
	refusals    refusals
	calls       map[uint64]*call
	sessions    map[string]*session
	flights     map[core.Key]*flight
	serial      uint64 // of calls and sessions
	beside      sync.WaitGroup
	backups     sync.Mutex // of the one that is under way
	ctx         context.Context

	machine *engine.Machine  // the writer's alone
	alloc   engine.Allocator // likewise
	head    core.Head        // likewise: of the last commit, for a machine that is loaded again
	failure atomic.Pointer[core.Error]
}

// New loads the store. Run must be called for the server to answer.
func New(ctx context.Context, needs Needs) (*Server, error) {
	s := &Server{
		needs: needs, limits: core.OrDefault(needs.Limits, DefaultLimits), log: needs.Log, began: time.Now(), done: make(chan struct{}),
		calls: map[uint64]*call{}, sessions: map[string]*session{}, flights: map[core.Key]*flight{}, schedulers: maps.Clone(needs.Schedulers), nodeCalls: map[nodeCall]*nodeTold{},
		slots: map[string]chan struct{}{}, visits: &throttle.Lines{Burst: 100, Every: time.Second}, strangers: &throttle.Lines{Burst: 20, Every: 10 * time.Second},
		unshown: &throttle.Lines{Burst: 20, Every: 10 * time.Second}, notes: map[string]chan core.Grant{},
	}
	if s.schedulers == nil {
		s.schedulers = map[string]core.SchedulerClient{}
	}
	for name, node := range needs.At {
		if err := core.CheckName("scheduler "+name+": at", node, core.MaxNodeName); err != nil {
			return nil, err
		}
		s.schedulers[name] = away{s, name, node}
	}
	if needs.Leads != nil {
		for name, sched := range s.schedulers {
			s.schedulers[name] = leading{sched, needs.Leads}
		}
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	if s.meter = needs.Meter; s.meter == nil {
		s.meter = unmetered{}
	}
	if s.auditor = needs.Audit; s.auditor == nil {
		s.auditor = s.log.With(core.LogAudit, true)
	}
	for _, r := range needs.Refused {
		s.refusals.put(r)
	}
	s.queue = make(chan work, s.limits.Queue)
	for name := range s.schedulers {
		s.notes[name] = make(chan core.Grant, mostNotes)
		s.slots[name] = make(chan struct{}, s.limits.Describes)
		s.firstStarts.open(name)
		s.silence.answered(name, s.began)
	}
	s.policy.Store(&decider{needs.Policy, needs.Config.System, needs.Config.Policy})
	s.names.Store(nameAll(needs.Config.Nodes))
	s.newObserver()
	if needs.Following != nil {
		return s, nil
	}
	if err := s.load(ctx, needs.Witness); err != nil {
		return nil, err
	}
	return s, nil
}

// Run works until ctx ends; the store stays open. It returns when every goroutine of the server has ended.
func (s *Server) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	s.ctx = ctx
	s.mu.Unlock()
	if s.needs.Following != nil {
		s.read(ctx)
		close(s.done)
		return nil
	}
	for name, sched := range s.schedulers {
		s.beside.Go(func() { s.watch(ctx, name, sched) })
		s.beside.Go(func() { s.reportAll(ctx, name, sched) })
		s.beside.Go(func() { s.annotateAll(ctx, name, sched) })
		s.beside.Go(func() { s.mirror(ctx, name) })
	}
	for range observers {
		s.beside.Go(func() { s.judgeObserved(ctx) })
	}
	s.beside.Go(func() { s.scanObserved(ctx) })
	if s.needs.LeaveDown {
		s.beside.Go(func() { s.leaveOut(ctx) })
	}
	s.write(ctx)
	cancel()
	close(s.done)
	s.dropAll(core.Errorf(core.ServerAway, "server: it is stopping"))
	s.beside.Wait()
	return nil
}

// now is the moment of an input.
func (s *Server) now() core.Moment {
	t := time.Now()
	return core.Moment{Uptime: t.Sub(s.began), Wall: t}
}
