package server

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/observe"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/poll"
)

// Kept keeps the account of observed jobs while no server runs.
type Kept interface {
	Load() (observe.State, error)
	Save(s observe.State) error
}

// Bounds of the work for observed jobs. A scheduler answers several questions in one.
const (
	observers   = 8     // jobs that are judged at a time
	mostUnseen  = 16384 // that wait to be judged
	scanEvery   = 5 * time.Second
	saveEvery   = 30 * time.Second
	reportLists = 64 // rows of each list, so that a report is one reply
)

// observer keeps the account of jobs that Weft only looks at.
type observer struct {
	mu      sync.Mutex
	account *observe.Account
	modes   map[string]engine.Observed // in force, by scheduler
	queue   chan core.Run
}

// newObserver goes on with the account that was kept.
func (s *Server) newObserver() {
	o := &s.observer
	o.queue = make(chan core.Run, mostUnseen)
	var state observe.State
	if s.needs.Kept != nil {
		var err error
		if state, err = s.needs.Kept.Load(); err != nil {
			s.log.Warn("the account of observed jobs cannot be read; it begins again", core.LogError, err)
			state = observe.State{}
		}
	}
	o.account = observe.New(s.observeConfig(), s.now().Wall, state)
	o.modes = s.needs.Config.Observe
}

func (s *Server) observeConfig() observe.Config {
	c := observe.Config{Pools: map[string]observe.Pool{}, Schedulers: slices.Sorted(maps.Keys(s.needs.Config.Observe))}
	sizes := map[string]int{}
	if s.needs.Sizes != nil {
		sizes = s.needs.Sizes()
	}
	for _, p := range s.needs.Config.Pools {
		c.Pools[p.Name] = observe.Pool{Size: sizes[p.Name], Quarantine: p.Quarantine}
	}
	c.Overlap, c.Grace = s.limits.Overlap, s.limits.Grace
	return c
}

// reconfigure takes a reload.
func (o *observer) reconfigure(c observe.Config, modes map[string]engine.Observed) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.account.Configure(c)
	o.modes = modes
}

// with runs f with the account.
func (o *observer) with(f func(a *observe.Account)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f(o.account)
}

// observed reports whether the scheduler's jobs are only observed, but for some.
func (o *observer) observed(scheduler string) (engine.Observed, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	of, is := o.modes[scheduler]
	return of, is
}

// leaves reports whether Weft leaves a job as it is: it began while it was only observed, or it is not among those that
// are served.
func (o *observer) leaves(job core.Job) bool {
	of, is := o.observed(job.Scheduler)
	began := false
	o.with(func(a *observe.Account) { began = a.Observes(job.Run) })
	return began || is && !of.Serves(job)
}

// hear takes a scheduler's answer. Jobs that are new in it are judged in other goroutines than the writer.
func (s *Server) hear(scheduler string, jobs core.Jobs) {
	o := &s.observer
	_, is := o.observed(scheduler)
	var judge []core.Run
	o.with(func(a *observe.Account) {
		if !is {
			jobs.Jobs = slices.DeleteFunc(slices.Clone(jobs.Jobs), func(j core.JobStatus) bool { return !a.Observes(j.Run) })
		}
		judge = a.Answer(s.now().Wall, observe.Answer{Scheduler: scheduler, Jobs: jobs})
	})
	for _, run := range judge {
		select {
		case o.queue <- run:
		default:
			err := core.Errorf(core.Overloaded, "job %s: %d others wait to be judged", run.Key, mostUnseen)
			o.with(func(a *observe.Account) { a.Judge(s.now().Wall, observe.Judged{Run: run, Err: err}) })
		}
	}
}

// judgeObserved judges jobs until ctx ends.
func (s *Server) judgeObserved(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case run := <-s.observer.queue:
			in := s.judged(ctx, run)
			if ctx.Err() == nil {
				s.observer.with(func(a *observe.Account) { a.Judge(s.now().Wall, in) })
			}
		}
	}
}

// judged asks scheduler and policy about a run.
func (s *Server) judged(ctx context.Context, run core.Run) observe.Judged {
	in := observe.Judged{Run: run}
	of, is := s.observer.observed(run.Scheduler)
	err := s.Look(ctx, func(m *engine.Machine) {
		in.Served = !is || slices.ContainsFunc(m.Job(run.JobID), func(v engine.View) bool { return v.Job.Run == run })
	})
	sched := s.schedulers[run.Scheduler]
	if in.Served || err != nil || sched == nil {
		in.Err = core.AsError(err)
		return in
	}
	ctx, cancel := context.WithTimeout(ctx, s.limits.Describe)
	defer cancel()
	job, err := core.Describe(ctx, sched, run.Key, nil, core.Peer{})
	switch {
	case err != nil:
		in.Err = core.AsError(err)
	case job.Gone || job.Run != run:
		in.Err = core.Errorf(core.SchedulerAway, "job %s: it ended before it was described", run.Key)
	case of.Serves(job):
		in.Served = true
	default:
		policy, began := s.policy.Load(), time.Now()
		in.Job = job
		in.Decision, in.Rule = decide(policy.Policy, engine.Facts{Job: job, System: policy.system, Now: s.now().Wall.Unix()})
		in.Took = time.Since(began)
	}
	return in
}

// decide gives the decision of policy, and the name of the deny that was for the job.
func decide(policy engine.Policy, facts engine.Facts) (engine.Decision, string) {
	j, ok := policy.(engine.Judge)
	if !ok {
		return policy.Decide(facts), ""
	}
	decision, denies := j.Judge(facts)
	for _, d := range denies {
		if d.Enforce == engine.EnforceDeny {
			return decision, d.Name
		}
	}
	return decision, ""
}

// see takes what a node reports of its NICs.
func (s *Server) see(node string, r core.Report) {
	if !r.Full && !r.Changed {
		return
	}
	in := observe.Read{Node: node, Devices: r.Devices, Bad: slices.Concat(r.Blind, r.Unusable), Services: r.Unknown}
	slices.Sort(in.Bad)
	in.Bad = slices.Compact(in.Bad)
	s.observer.with(func(a *observe.Account) { a.Read(s.now().Wall, in) })
}

// scanObserved looks at what nodes have reported, and keeps the account.
func (s *Server) scanObserved(ctx context.Context) {
	saved := s.now().Uptime
	for poll.Pause(ctx, s.limits.Scan) {
		s.observer.with(func(a *observe.Account) { a.Scan(s.now().Wall) })
		if now := s.now().Uptime; now-saved >= saveEvery {
			s.keepAccount()
			saved = now
		}
	}
	s.keepAccount()
}

// keepAccount has the account outlive the server, where there is one.
func (s *Server) keepAccount() {
	var state observe.State
	has := false
	s.observer.with(func(a *observe.Account) {
		if has = len(s.observer.modes) > 0 || !a.Empty(); has {
			state = a.State()
		}
	})
	if !has || s.needs.Kept == nil {
		return
	}
	if err := s.needs.Kept.Save(state); err != nil {
		s.log.Warn("the account of observed jobs cannot be kept", core.LogError, err)
	}
}

// ObserveArgs say since when.
type ObserveArgs struct {
	Since time.Time `json:"since,omitzero"`
}

// VerbObserve is the call of `weft observe`.
const VerbObserve = "observe"

func (d *Verbs) observe(_ context.Context, _ core.Peer, req hook.Request) (any, error) {
	var args ObserveArgs
	if len(req.Body) > 0 {
		if err := req.Decode(&args); err != nil {
			return nil, err
		}
	}
	var r observe.Report
	d.Server.observer.with(func(a *observe.Account) { r = a.Report(args.Since) })
	r.Cut(reportLists)
	return r, nil
}

// ObservedRow is the account in numbers: which jobs they are is for operators only.
type ObservedRow struct {
	Schedulers []string  `json:"schedulers"`
	Since      time.Time `json:"since"`
	Jobs       int       `json:"jobs"`
	Granted    int       `json:"granted"`
	Refused    int       `json:"refused"`
	Drained    int       `json:"drained"` // nodes
	Twice      int       `json:"twice"`   // VNIs
	Left       int       `json:"left"`    // services of a user on a node, that are there now
}

// Observed is the account in numbers; nil: no scheduler's jobs are observed.
func (s *Server) Observed() *ObservedRow {
	var row *ObservedRow
	s.observer.with(func(a *observe.Account) {
		if len(s.observer.modes) == 0 {
			return
		}
		r := a.Report(time.Time{})
		row = &ObservedRow{r.Schedulers, r.Since, r.Jobs, r.Granted, r.Refused, len(r.Drains), len(r.Twice), 0}
		for _, l := range r.Left {
			if l.Gone.IsZero() {
				row.Left++
			}
		}
	})
	return row
}

// Counts are the numbers by name; nil of none.
func (r *ObservedRow) Counts() map[string]int {
	if r == nil {
		return nil
	}
	return map[string]int{
		"jobs": r.Jobs, "granted": r.Granted, "refused": r.Refused, "drained": r.Drained, "twice": r.Twice, "left": r.Left,
	}
}
