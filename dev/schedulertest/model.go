package schedulertest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// Model is a scheduler's state. It is not safe for concurrent use.
type Model struct {
	Label string // the instance's name in config.hcl
	Cores int    // of each job on each node
	Total int    // of each node; 0: it does not say

	jobs []*Job // what it remembers, oldest first
	next int
	past []core.Jobs // earlier complete answers, oldest first, at most maxPast
}

// maxPast bounds how old a stale answer can be.
const maxPast = 6

// Job is one job that the scheduler remembers, as it really is.
type Job struct {
	core.Run
	GID     uint32
	State   core.JobState
	Hosts   []string // where its present run lives; empty unless it runs
	Request core.Request
	last    []string // where its newest run lived when it ended
}

// New is a scheduler with no job.
func New(label string, cores int) *Model { return &Model{Label: label, Cores: cores} }

// Submit queues a job; at is the submit time in Unix seconds.
func (m *Model) Submit(at int64, uid uint32, request core.Request) *Job {
	m.remember()
	m.next++
	j := &Job{
		Run: core.Run{
			Key:         core.Key{JobID: core.JobID{Scheduler: m.Label, Job: strconv.Itoa(m.next)}},
			Fingerprint: core.Fingerprint{UID: uid, Submitted: at},
		},
		GID: uid, State: core.JobQueued, Request: request,
	}
	m.jobs = append(m.jobs, j)
	return j
}

// Start runs a queued job on hosts and gives the Prologs, one a host.
func (m *Model) Start(j *Job, hosts []string) []Hook {
	m.remember()
	j.State, j.Hosts = core.JobRunning, slices.Clone(hosts)
	return j.hooks(core.Prepare, j.Run, j.Generation, hosts)
}

// End ends a run for good and gives the Epilogs.
func (m *Model) End(j *Job) []Hook {
	m.remember()
	return j.leave(core.JobFinal, j.Generation)
}

// Requeue puts a running job back in the queue, with its submit time and the next count. The Epilogs show the next count already, as Slurm's do after
// `scontrol requeue`.
func (m *Model) Requeue(j *Job) []Hook {
	m.remember()
	return j.leave(core.JobQueued, j.Generation+1)
}

// Relapse loses that a job was started, as a slurmctld does that was killed before it had saved its state: the job is in
// the queue, and starts again with the count of before.
func (m *Model) Relapse(j *Job) []Hook {
	m.remember()
	hooks := j.leave(core.JobQueued, j.Generation)
	j.Generation--
	return hooks
}

// Lose takes a node away: its jobs end, or go back to the queue, and the node itself sees no Epilog. The other nodes
// see theirs with the old count, as with Slurm after a node failure.
func (m *Model) Lose(host string, requeue bool) []Hook {
	m.remember()
	var hooks []Hook
	for _, j := range m.jobs {
		if j.State != core.JobRunning || !slices.Contains(j.Hosts, host) {
			continue
		}
		state := core.JobFinal
		if requeue {
			state = core.JobQueued
		}
		for _, h := range j.leave(state, j.Generation) {
			if h.Node != host {
				hooks = append(hooks, h)
			}
		}
	}
	return hooks
}

// Shrink releases a node of a running job that goes on elsewhere: its Epilog runs there all the same.
func (m *Model) Shrink(j *Job, host string) []Hook {
	i := slices.Index(j.Hosts, host)
	if i < 0 || len(j.Hosts) < 2 {
		return nil
	}
	m.remember()
	j.Hosts = slices.Delete(slices.Clone(j.Hosts), i, i+1)
	return j.hooks(core.CleanUp, j.Run, j.Generation, []string{host})
}

// Forget drops an ended job from the scheduler's memory, as Slurm does after MinJobAge.
func (m *Model) Forget(j *Job) {
	m.remember()
	m.jobs = slices.DeleteFunc(m.jobs, func(o *Job) bool { return o == j && o.State == core.JobFinal })
}

// Rebuild is a cluster set up anew: every job is gone without a word, and ids begin at 1 again.
func (m *Model) Rebuild() {
	m.remember()
	m.jobs, m.next = nil, 0
}

// Jobs are those it remembers, oldest first. The slice must not be changed.
func (m *Model) Jobs() []*Job { return m.jobs }

// Lives reports whether run really has host now.
func (m *Model) Lives(run core.Run, host string) bool {
	j := m.find(run.JobID)
	return j != nil && j.Run == run && j.State == core.JobRunning && slices.Contains(j.Hosts, host)
}

func (m *Model) find(id core.JobID) *Job {
	for _, j := range m.jobs {
		if j.JobID == id {
			return j
		}
	}
	return nil
}

func (j *Job) leave(state core.JobState, shown uint32) []Hook {
	hooks := j.hooks(core.CleanUp, j.Run, shown, j.Hosts)
	j.State, j.last, j.Hosts = state, j.Hosts, nil
	if state == core.JobQueued {
		j.Generation++
	}
	return hooks
}

func (j *Job) shares(cores, total int) []core.Placement {
	hosts := j.Hosts
	if len(hosts) == 0 {
		hosts = j.last
	}
	if len(hosts) == 0 {
		return nil
	}
	return []core.Placement{{Hosts: strings.Join(hosts, ","), Nodes: len(hosts), Cores: cores, Total: total}}
}
