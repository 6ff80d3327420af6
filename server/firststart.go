package server

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/hostlist"
)

// reportLimit is how long a scheduler may take for the jobs whose nodes its answer does not say, all together.
const reportLimit = 30 * time.Second

// firstStarts are the nodes whose agent has started for the first time in a boot. Each waits for the complete answer of every scheduler that was begun after
// its report came: what runs there by that answer and was never prepared ran before Weft. One answer serves all that wait.
type firstStarts struct {
	mu  sync.Mutex
	of  map[string]map[string]firstStart // by scheduler, then node
	in  map[string]chan answered
	not map[string]bool // schedulers that cannot be watched, and tell of no job
}

type firstStart struct {
	ses   *session
	since time.Duration
}

// answered is a complete answer of a scheduler.
type answered struct {
	began time.Duration
	jobs  []core.JobStatus
}

// open makes room for a scheduler's, before the server runs.
func (n *firstStarts) open(scheduler string) {
	if n.of == nil {
		n.of, n.in, n.not = map[string]map[string]firstStart{}, map[string]chan answered{}, map[string]bool{}
	}
	n.of[scheduler], n.in[scheduler] = map[string]firstStart{}, make(chan answered, 1)
}

// wait puts a node among those that wait. Of schedulers whose nodes know their own jobs only, it is told nothing.
func (n *firstStarts) wait(s *Server, node string, ses *session) {
	n.mu.Lock()
	defer n.mu.Unlock()
	since := s.now().Uptime
	for scheduler, all := range n.of {
		switch {
		case slices.Contains(s.needs.Own, scheduler):
		case n.not[scheduler]:
			ses.told(core.Orders{Ran: []core.Ran{{Scheduler: scheduler}}})
		default:
			all[node] = firstStart{ses, since}
		}
	}
}

// noWatch notes that a scheduler cannot be watched: those that wait for it are told of no job.
func (n *firstStarts) noWatch(scheduler string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.not[scheduler] = true
	for _, c := range n.of[scheduler] {
		c.ses.told(core.Orders{Ran: []core.Ran{{Scheduler: scheduler}}})
	}
	clear(n.of[scheduler])
}

// leave ends the waits of a session.
func (n *firstStarts) leave(node string, ses *session) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, all := range n.of {
		if all[node].ses == ses {
			delete(all, node)
		}
	}
}

// answered takes a complete answer, unless nobody waits for it or one is worked on already: there will be another.
func (n *firstStarts) answered(scheduler string, a answered) {
	if len(n.waiting(scheduler, a.began)) == 0 {
		return
	}
	select {
	case n.in[scheduler] <- a:
	default:
	}
}

// waiting are the nodes that an answer begun at a time is for.
func (n *firstStarts) waiting(scheduler string, began time.Duration) map[string]firstStart {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := maps.Clone(n.of[scheduler])
	maps.DeleteFunc(out, func(_ string, c firstStart) bool { return c.since >= began })
	return out
}

// done ends the wait of a node, unless it has begun another.
func (n *firstStarts) done(scheduler, node string, c firstStart) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.of[scheduler][node] == c {
		delete(n.of[scheduler], node)
	}
}

// reportAll reports to them what a scheduler has on them, for as long as ctx lives.
func (s *Server) reportAll(ctx context.Context, name string, sched core.SchedulerClient) {
	for {
		select {
		case <-ctx.Done():
			return
		case a := <-s.firstStarts.in[name]:
			if err := s.reportRan(ctx, name, sched, a); err != nil && ctx.Err() == nil {
				s.log.Warn("nodes whose agent is new wait longer for the list of jobs that ran there before Weft", core.LogScheduler, name, core.LogError, err)
			}
		}
	}
}

// reportRan reports to those that wait for one answer.
func (s *Server) reportRan(ctx context.Context, name string, sched core.SchedulerClient, a answered) error {
	nodes := s.firstStarts.waiting(name, a.began)
	a.jobs = slices.DeleteFunc(slices.Clone(a.jobs), func(j core.JobStatus) bool { return j.State != core.JobRunning || j.Scheduler != name })
	if err := s.unreserved(ctx, &a); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, reportLimit)
	defer cancel()
	ran := make(map[string][]core.JobStatus, len(nodes))
	over, unplaced := 0, 0
	for _, j := range a.jobs {
		hosts, err := s.placed(within, sched, j)
		if err != nil {
			s.log.Warn("on which nodes the job runs is not known: where it ran before Weft did, its next tasks fail", core.LogJob, j.Key.String(), core.LogError, err)
			unplaced++
			continue
		}
		j.Hosts = ""
		for h := range hosts.Expand() {
			switch _, waits := nodes[h]; {
			case !waits || slices.ContainsFunc(ran[h], func(o core.JobStatus) bool { return o.Run == j.Run }):
			case len(ran[h]) >= core.MaxRan:
				over++
			default:
				ran[h] = append(ran[h], j)
			}
		}
	}
	if over > 0 {
		s.log.Warn("a node is told of so many jobs that ran before Weft and no more; the next tasks of the others fail", core.LogScheduler, name, core.LogLimit, core.MaxRan, core.LogCount, over)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for node, c := range nodes {
		s.firstStarts.done(name, node, c)
		c.ses.told(core.Orders{Ran: []core.Ran{{Scheduler: name, Jobs: ran[node], Whole: over+unplaced == 0}}})
	}
	return nil
}

// unreserved leaves those jobs that have no reservation: a job with a VNI anywhere did not run before Weft, or would be half with one and half without.
func (s *Server) unreserved(ctx context.Context, a *answered) error {
	var out []core.JobStatus
	for some := range slices.Chunk(a.jobs, lookRows) {
		err := s.Look(ctx, func(m *engine.Machine) {
			for _, j := range some {
				if !slices.ContainsFunc(m.Job(j.JobID), func(v engine.View) bool { return v.Job.Key == j.Key }) {
					out = append(out, j)
				}
			}
		})
		if err != nil {
			return err
		}
	}
	a.jobs = out
	return nil
}

// placed are the nodes of a job that runs. Where its status does not say, the scheduler is asked for that job alone.
func (s *Server) placed(ctx context.Context, sched core.SchedulerClient, j core.JobStatus) (hostlist.List, error) {
	if j.Hosts != "" {
		return hostlist.Parse(j.Hosts)
	}
	select {
	case s.slots[j.Scheduler] <- struct{}{}:
		defer func() { <-s.slots[j.Scheduler] }()
	case <-ctx.Done():
		return hostlist.List{}, core.Errorf(core.TimedOut, "job %s: it is not asked about any more: %w", j.Key, ctx.Err())
	}
	ctx, cancel := context.WithTimeout(ctx, s.limits.Describe)
	defer cancel()
	job, err := core.Describe(ctx, sched, j.Key, nil, core.Peer{})
	if err != nil {
		return hostlist.List{}, err
	}
	if job.Gone || job.Run != j.Run {
		return hostlist.List{}, nil
	}
	hosts := make([]string, 0, len(job.Placements))
	for _, placement := range job.Placements {
		hosts = append(hosts, placement.Hosts)
	}
	return hostlist.Parse(strings.Join(hosts, ","))
}
