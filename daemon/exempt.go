package daemon

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
	"github.com/weft-hpc/weft/hook/rundir"
)

// exemptLimit is how long an adapter has to tell which jobs run, at an agent's first start.
const exemptLimit = 10 * time.Second

// exemptRunning lets the tasks of jobs run on that began before this agent first started in this boot: nothing was prepared for them, and their next step
// would fail. The adapters are asked here, also where a scheduler's half is the server's, once a boot: Slurm's runs one squeue, for which this host needs
// Slurm's commands. What cannot be told is not exempt, now or at a later start: by then a job without a record may be one that was refused.
func exemptRunning(ctx context.Context, run rundir.Dir, node, boot string, log, audit *slog.Logger, halves ...map[string]core.Scheduler) error {
	first, err := run.FirstStart(boot)
	if err != nil || !first {
		return err
	}
	schedulers := map[string]core.Scheduler{}
	for _, h := range halves {
		maps.Copy(schedulers, h)
	}
	for _, name := range slices.Sorted(maps.Keys(schedulers)) {
		jobs, err := running(ctx, schedulers[name], node)
		if err != nil && core.AsError(err).Code != core.Unsupported {
			log.Warn("which jobs run here already is not known; their next tasks fail", core.LogScheduler, name, core.LogError, err)
		}
		for _, job := range jobs {
			if err := run.Exempt(job); err != nil {
				return err
			}
			audit.Warn("the job ran before the agent did: its tasks run on without variables and without isolation of their own", core.LogJob, job.String())
		}
	}
	return run.NoteStart(boot)
}

// errTold ends a Watch that has told enough.
var errTold = errors.New("told")

// running are the jobs that a scheduler has on a node, by its first complete answer.
func running(ctx context.Context, sched core.Scheduler, node string) ([]core.JobID, error) {
	ctx, cancel := context.WithTimeout(ctx, exemptLimit)
	defer cancel()
	var found []core.JobID
	told := false
	err := sched.Watch(ctx, func(jobs core.Jobs) error {
		if jobs.Asking {
			return nil
		}
		for _, j := range jobs.Jobs {
			if j.State == core.JobRunning && placed(j.Hosts, node) {
				found = append(found, j.JobID)
			}
		}
		if jobs.Complete {
			told = true
			return errTold
		}
		return nil
	})
	if told {
		return found, nil
	}
	return nil, err
}

// placed reports whether a hostlist has a node.
func placed(hosts, node string) bool {
	list, err := hostlist.Parse(hosts)
	if err != nil {
		return false
	}
	for h := range list.Expand() {
		if h == node {
			return true
		}
	}
	return false
}
