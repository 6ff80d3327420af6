package observe

import (
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
)

// Config has the parts of config.hcl that an Account needs.
type Config struct {
	Pools      map[string]Pool
	Schedulers []string // labels of those whose jobs are observed
	Overlap    time.Duration
	Grace      time.Duration
}

// Pool is one of VNIs.
type Pool struct {
	Size       int
	Quarantine time.Duration
}

// Times that a Config without any has.
const (
	// DefaultOverlap is how long two services with one VNI must both be seen. Each node reads its NICs every 5 s, so none
	// of the two can have ended before the other began.
	DefaultOverlap = 15 * time.Second
	// DefaultGrace is how long a service may outlive its job.
	DefaultGrace = 30 * time.Second
)

// Bounds of an Account. Beyond them the oldest goes, or what is new is only counted.
const (
	MaxJobs     = 1 << 16 // that run at a time
	MaxListed   = 512     // of each kind of finding
	MaxRefusals = 64      // kinds of refusals in an hour
	MaxHours    = 14 * 24
	MaxVNIs     = 64 // of a service; one with more is a data service's, or no job's
)

// Account is the state. It is not safe for concurrent use.
type Account struct {
	cfg     Config
	now     time.Time
	since   time.Time
	jobs    map[core.Run]*job
	on      map[string]map[core.Run]*job // by node
	unplace map[uint32]int               // jobs by user of which no node is known
	heard   map[string]time.Time         // the newest complete answer, by scheduler; zero: it may hide jobs
	nodes   map[string]*node

	used    map[string]int // VNIs by pool: of jobs, and of those that rest
	quotas  map[tally]int
	resting []Rest
	hours   []Hour
	drains  []Drain
	twice   []Twice
	left    []Left
	dropped int // findings, and jobs beyond MaxJobs
}

// job is one that runs.
type job struct {
	Job
	run    core.Run
	nodes  []string
	judged bool // it is in the account, or is served
	lost   bool // no node of it is known
}

// New is an account that begins now, or goes on with a State.
func New(cfg Config, now time.Time, s State) *Account {
	a := &Account{
		now: now, since: now, jobs: map[core.Run]*job{}, on: map[string]map[core.Run]*job{}, unplace: map[uint32]int{},
		heard: map[string]time.Time{}, nodes: map[string]*node{}, used: map[string]int{}, quotas: map[tally]int{},
	}
	a.Configure(cfg)
	a.load(s)
	return a
}

// Configure takes a changed configuration. Jobs of schedulers that are observed no more leave the shadow.
func (a *Account) Configure(cfg Config) {
	if cfg.Overlap == 0 {
		cfg.Overlap = DefaultOverlap
	}
	if cfg.Grace == 0 {
		cfg.Grace = DefaultGrace
	}
	a.cfg = cfg
}

// Observes reports whether the run was judged as one that is only observed, and lives.
func (a *Account) Observes(run core.Run) bool {
	j := a.jobs[run]
	return j != nil && j.judged && !j.Served
}

// Answer is a message of a scheduler about its jobs.
type Answer struct {
	Scheduler string
	Jobs      core.Jobs
}

// Answer takes it, and gives the runs that must be judged.
func (a *Account) Answer(now time.Time, in Answer) (judge []core.Run) {
	a.tick(now)
	if in.Jobs.Blind != "" {
		delete(a.heard, in.Scheduler)
		return nil
	}
	there := map[core.Run]bool{}
	for i := range in.Jobs.Jobs {
		s := &in.Jobs.Jobs[i]
		if s.Scheduler != in.Scheduler {
			continue
		}
		j := a.jobs[s.Run]
		switch {
		case s.State != core.JobRunning && j != nil:
			a.end(j)
		case s.State != core.JobRunning:
		case j != nil:
			there[s.Run] = true
			if s.Hosts != "" && j.Hosts != s.Hosts {
				a.place(j, s.Hosts)
			}
		case len(a.jobs) >= MaxJobs:
			a.dropped++
		default:
			there[s.Run] = true
			j = &job{run: s.Run}
			a.jobs[s.Run] = j
			a.place(j, s.Hosts)
			judge = append(judge, s.Run)
		}
	}
	if in.Jobs.Complete {
		a.heard[in.Scheduler] = now
		for run, j := range a.jobs {
			if run.Scheduler == in.Scheduler && !there[run] {
				a.end(j)
			}
		}
	}
	return judge
}

// place says on which nodes a job is.
func (a *Account) place(j *job, hosts string) {
	a.unplaced(j)
	j.Hosts, j.nodes = hosts, nil
	list, err := hostlist.Parse(hosts)
	if err == nil && hosts != "" {
		j.nodes = slices.Collect(list.Expand())
	}
	for _, n := range j.nodes {
		if a.on[n] == nil {
			a.on[n] = map[core.Run]*job{}
		}
		a.on[n][j.run] = j
	}
	if j.lost = len(j.nodes) == 0; j.lost {
		a.unplace[j.run.UID]++
	}
}

func (a *Account) unplaced(j *job) {
	for _, n := range j.nodes {
		delete(a.on[n], j.run)
	}
	if j.lost {
		if a.unplace[j.run.UID]--; a.unplace[j.run.UID] == 0 {
			delete(a.unplace, j.run.UID)
		}
	}
}

func (a *Account) end(j *job) {
	a.unplaced(j)
	delete(a.jobs, j.run)
	a.release(j)
}

// tick lets time pass.
func (a *Account) tick(now time.Time) {
	a.now = now
	a.resting = slices.DeleteFunc(a.resting, func(r Rest) bool {
		if r.Until.After(now) {
			return false
		}
		a.used[r.Pool] -= r.VNIs
		return true
	})
	for pool, n := range a.used {
		if n > 0 {
			a.hour().peak(pool, n)
		}
	}
}
