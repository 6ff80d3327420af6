package agent

import (
	"context"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/hook/rundir"
	"github.com/weft-hpc/weft/poll"
)

// FirstStart is what a node has still to be told after its agent's first start in a boot: which jobs ran there before, by schedulers whose half is elsewhere. Until
// a scheduler has told, tasks of its jobs that have no record fail.
type FirstStart struct {
	Start  rundir.Start
	Untold []string // labels of the schedulers

	// Age tells of a job that got its nodes at a time how that lies to the agent's first start.
	Age func(started time.Time) Age
}

// Age is how a job's start lies to an agent's first start in a boot.
type Age uint8

// The ages. Between Older and Settled a job's own Prolog may still be on its way to the agent, and must not be passed over.
const (
	Younger Age = iota // not certainly before it, or before the boot: it was prepared, or will be, or fails
	Older              // before it
	Settled            // so long before it that a Prolog which comes now is a later step's
)

// Settling is how long a job's Prolog may take to come to the agent. weft-hook waits at most 5 s for an agent; Slurm sends again what slurmd did not take.
const Settling = 30 * time.Second

// AgeOf is the age of a job by the wall clock; booted and first are the node's boot and the agent's first start. Schedulers tell whole seconds: a job of the
// same second as the first start may be the younger one.
func AgeOf(started, booted, first time.Time) Age {
	switch latest := started.Add(time.Second); {
	case started.Before(booted) || latest.After(first):
		return Younger
	case latest.Add(Settling).After(first):
		return Older
	}
	return Settled
}

// Exempt lets the tasks of a job that runs on the node run on without a record, unless the job is younger than the agent's
// first start. It reports whether it made the exemption, and fails where run cannot keep it. The tasks of an observed
// one keep the variables that they have.
func Exempt(run rundir.Dir, j core.JobStatus, age func(started time.Time) Age, observed bool) (made bool, err error) {
	of := Older // a job whose start is unknown: its prepare may be waiting for this agent, and must not be passed over
	if j.Started != 0 {
		of = age(time.Unix(j.Started, 0))
	}
	switch {
	case of != Younger && observed:
		err = run.Observe(j.JobID)
	case of == Older:
		err = run.Exempt(j.JobID)
	case of == Settled:
		err = run.ExemptRun(j.Run)
	default:
		return false, nil
	}
	return err == nil, err
}

// first reports whether schedulers have still to tell.
func (a *Agent) first() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.untold) > 0
}

// ran takes what a scheduler has on this node. It is worked in the writer's turn, so that no prepare comes in between. What fails is asked for again in the
// next session.
func (a *Agent) ran(r core.Ran, m *node.Machine) {
	f := a.needs.First
	a.mu.Lock()
	i := slices.Index(a.untold, r.Scheduler)
	a.mu.Unlock()
	if i < 0 {
		a.over(r)
		return
	}
	n := 0
	for _, j := range r.Jobs[:min(len(r.Jobs), core.MaxRan)] {
		made, err := a.exempt(r.Scheduler, j, m)
		if err != nil {
			a.log.Warn("which jobs ran here before Weft cannot be kept; their next tasks fail, and the server is asked again in the next session",
				core.LogJob, j.Key.String(), core.LogError, err)
			return
		}
		if made {
			n++
		}
	}
	err := a.needs.Rundir.NoteTold(&f.Start, r.Scheduler)
	a.mu.Lock()
	a.untold = slices.Delete(slices.Clone(a.untold), i, i+1) // this process need not be told twice, whatever could be written
	last := len(a.untold) == 0
	a.mu.Unlock()
	if err == nil && last {
		err = a.needs.Rundir.NoteStart(a.needs.Boot)
	}
	if err != nil {
		a.log.Warn("that the agent has started cannot be kept: after its next start the server is asked again which jobs ran before", core.LogError, err)
	}
	a.log.Info("the scheduler has told which jobs ran here before Weft", core.LogScheduler, r.Scheduler, core.LogCount, n)
}

// exempt lets the tasks of one job run on without a record, where it has run here since before the agent did. One that came later was, or will be, prepared.
func (a *Agent) exempt(scheduler string, j core.JobStatus, m *node.Machine) (made bool, err error) {
	d := a.needs.Rundir
	if j.Scheduler != scheduler || j.State != core.JobRunning || m.Known(j.Run) || d.Exempted(j.JobID) {
		return false, nil
	}
	observed := a.mode(scheduler) != ServesAll
	made, err = Exempt(d, j, a.needs.First.Age, observed)
	if made && !observed {
		a.audit.Warn(auditBypass, core.LogJob, j.Key.String(), core.LogOwner, j.UID,
			core.LogWhy, "the job ran here before the agent did: its tasks run on without variables and without isolation of their own")
	}
	return made, err
}

// prepare is the input of a prepare; nil where the job ran before Weft did and stays without VNI in all its parts: without PrologFlags=Alloc a Prolog of Slurm
// may first run on a node when a later step of such a job reaches it.
func (a *Agent) prepare(h node.Hook) node.Input {
	key := h.Ask.Key
	if !h.Peer.Root() {
		return h
	}
	run, ok := a.needs.Rundir.ExemptedRun(key.JobID)
	switch {
	case !ok: // whatever comes of it: if it is refused, the job's tasks must not run
		a.unexempt(key.JobID)
		return h
	case run.Key != key && key.Generation != core.AnyGeneration || run.UID != h.Ask.UID: // a later run of the job, or another job of its id
		a.unexempt(key.JobID)
		return h
	}
	a.log.Info("the job ran here before Weft did: it stays without VNI, and its prepare does nothing", core.LogJob, key.String(), core.LogCall, h.Ask.Call)
	a.reply(node.Reply{Call: h.Call, Outcome: core.Outcome{Action: h.Ask.Action, Key: key, Environment: node.Environment(node.Entry{})}})
	return nil
}

// ranBefore reports whether a job that ran here before Weft may still be exempt. One that is over before a hook of Weft's is called for it has no Epilog that
// would end that, so the server is asked.
func (a *Agent) ranBefore() bool {
	return a.needs.Rundir != "" && len(a.needs.Rundir.ExemptedRuns()) > 0
}

// askAgain asks the server now and then, for as long as a session lasts, while such jobs are left.
func (a *Agent) askAgain(ctx context.Context, s *session) {
	for poll.Pause(ctx, a.limits.Ran) {
		if !a.ranBefore() {
			continue // one may yet be told of in this session
		}
		select {
		case s.reports <- core.Report{First: true}:
		case <-ctx.Done():
			return
		}
	}
}

// over ends the exemptions of a scheduler's runs that its answer lacks. The answer was begun after this node asked, and the runs are older than that. It is
// worked in the writer's turn, as is whatever else ends or makes one.
func (a *Agent) over(r core.Ran) {
	if a.needs.Rundir == "" || !r.Whole {
		return
	}
	for _, run := range a.needs.Rundir.ExemptedRuns() {
		if run.Scheduler != r.Scheduler || slices.ContainsFunc(r.Jobs, func(j core.JobStatus) bool { return j.Run == run }) {
			continue
		}
		a.unexempt(run.JobID)
		a.log.Info("a job that ran here before Weft is over: its exemption ends", core.LogJob, run.Key.String())
	}
}

// exempted reports whether root's list lets tasks of a job run although this node holds nothing for it.
func (a *Agent) exempted(job core.JobID) bool {
	return a.needs.Rundir != "" && a.needs.Rundir.Exempted(job)
}

// unexempt ends that: the job was prepared, or is over.
func (a *Agent) unexempt(job core.JobID) {
	if a.needs.Rundir == "" {
		return
	}
	if err := a.needs.Rundir.Unexempt(job); err != nil {
		a.log.Warn("the job stays exempt: its tasks would run without a record", core.LogJob, job.String(), core.LogError, err)
	}
}
