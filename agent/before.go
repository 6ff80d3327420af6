package agent

import (
	"context"
	"slices"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/poll"
)

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
