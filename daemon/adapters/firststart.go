package adapters

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/rundir"
)

// exemptLimit is how long an adapter has to tell which jobs run, at an agent's first start.
const exemptLimit = 10 * time.Second

// ExemptRunning lets the tasks of jobs run on that began before this agent first started in this boot: nothing was prepared for them, and their next step
// would fail. Adapters whose scheduler's half is on this node tell which those are before the first hook is answered. What they cannot tell, and what others
// have, the agent is told by the server, which asks each scheduler once for all nodes; nil: nothing is left to be told.
func (a *Node) ExemptRunning(ctx context.Context, run rundir.Dir, boot string, log, audit *slog.Logger) (*agent.FirstStart, error) {
	now := hook.Boottime()
	start, first, err := run.FirstStart(boot, now)
	if err != nil || !first {
		return nil, err
	}
	age := ages(start.Since)
	for _, name := range slices.Sorted(maps.Keys(a.Schedulers)) {
		if start.Since != now { // a job without a record may by now be one that was refused, which the agent knows and this does not
			break
		}
		jobs, err := running(ctx, a.Schedulers[name], a.node)
		if err != nil && core.AsError(err).Code != core.Unsupported {
			log.Warn("which jobs run here already is not known yet; until it is, their tasks fail", core.LogScheduler, name, core.LogError, err)
			if !slices.Contains(a.Own, name) {
				continue
			}
		}
		for _, j := range jobs {
			made, err := agent.Exempt(run, j, age, a.observed[name])
			if err != nil {
				return nil, err
			}
			if made && !a.observed[name] {
				audit.Warn("the job ran before the agent did: its tasks run on without variables and without isolation of their own", core.LogJob, j.Key.String())
			}
		}
		if err := run.NoteTold(&start, name); err != nil {
			return nil, err
		}
	}
	out := &agent.FirstStart{Start: start, Age: age}
	for _, name := range slices.Sorted(maps.Keys(a.Hooks)) {
		if !slices.Contains(start.Told, name) && !slices.Contains(a.Own, name) {
			out.Untold = append(out.Untold, name)
		}
	}
	if len(out.Untold) == 0 {
		return nil, run.NoteStart(boot)
	}
	return out, nil
}

// ages tells how old jobs are beside a first start, which is of CLOCK_BOOTTIME in ns. It goes by the clock of when it is asked: soon after a boot that clock
// may still have been wrong.
func ages(since int64) func(time.Time) agent.Age {
	return func(t time.Time) agent.Age {
		booted := time.Now().Add(-time.Duration(hook.Boottime()))
		return agent.AgeOf(t, booted, booted.Add(time.Duration(since)))
	}
}

// errTold ends a Watch that has told enough.
var errTold = errors.New("told")

// running are the jobs that a scheduler has on a node, by its first complete answer.
func running(ctx context.Context, sched core.SchedulerClient, node string) ([]core.JobStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, exemptLimit)
	defer cancel()
	var found []core.JobStatus
	told := false
	err := sched.Watch(ctx, func(jobs core.Jobs) error {
		if jobs.Asking {
			return nil
		}
		for _, j := range jobs.Jobs {
			if j.State == core.JobRunning && placed(j.Hosts, node) {
				found = append(found, j)
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
	set, err := hostlist.ParseSet(hosts)
	return err == nil && set.Contains(node)
}
