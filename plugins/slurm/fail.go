package slurm

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/weft-hpc/weft/command"
	"github.com/weft-hpc/weft/core"
)

// Fail ends a job that cannot have what it asked for: the reason goes to its user's terminal or output where that can still be reached, and into the job's
// AdminComment, which `scontrol show job` shows; the user's own comment stays. A run that is over already, or another run of the job, is left alone.
func (p *Plugin) Fail(ctx context.Context, key core.Key, reason string) error {
	return p.end(ctx, key, reason, false)
}

// Requeue puts a job back into the queue that Weft could not serve, with the reason where its user finds it. Slurm lets it wait two minutes. What cannot
// come again (srun, salloc, --no-requeue) is ended.
func (p *Plugin) Requeue(ctx context.Context, key core.Key, reason string) error {
	return p.end(ctx, key, reason, true)
}

func (p *Plugin) end(ctx context.Context, key core.Key, reason string, again bool) error {
	if err := checkJob(key.Job); err != nil {
		return err
	}
	parts, err := p.parts(ctx, key.Job)
	if err != nil {
		return err
	}
	r := pick(parts, key.Job)
	if r == nil || r.restarts != key.Generation && key.Generation != core.AnyGeneration {
		return nil
	}
	back := again && r.batch && r.requeue
	switch {
	case back && r.state == completing:
		return core.Errorf(core.SchedulerAway, "job %s: it is completing, and how it ended is not known yet", r.name())
	case back && r.state == endedBadly: // its tasks have failed while slurmctld did not answer; Slurm takes it back all the same
	case !lives(*r):
		return nil
	}
	ends := !back && r.batch && p.endsInTask(ctx)
	p.tell(ctx, *r, reason, ends)
	switch {
	case back:
		return p.command(ctx, "scontrol", "requeue", r.name())
	case ends:
		p.cancelLater(*r)
		return nil
	}
	return p.command(ctx, "scancel", r.name())
}

// endsInTask reports whether the script of a refused batch job ends in Weft's TaskProlog. Its output then has the
// reason, where a job that is cancelled before its script starts has no output (22.05.8).
func (p *Plugin) endsInTask(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, p.settings.patient)
	defer cancel()
	text, err := p.run(ctx, "scontrol", "show", "config")
	return err == nil && p.settings.tasks != "" && readConfig(string(text))["TaskProlog"] == p.settings.tasks
}

// backstop is how long a refused batch job may take to end in its TaskProlog.
const backstop = 10 * time.Second

// cancelLater ends a refused batch job whose TaskProlog has not ended it: another node's Prolog is still at work, or
// the script runs on a node that was not refused.
func (p *Plugin) cancelLater(r row) {
	time.AfterFunc(backstop, func() {
		ctx, cancel := context.WithTimeout(context.Background(), p.settings.patient)
		defer cancel()
		parts, err := p.parts(ctx, r.job)
		if now := pick(parts, r.job); err != nil || now != nil && now.restarts == r.restarts && lives(*now) {
			_ = p.command(ctx, "scancel", r.name())
		}
	})
}

// tell leaves the reason where a user finds it. That it cannot is no reason to let the job run.
func (p *Plugin) tell(ctx context.Context, r row, reason string, ends bool) {
	text := "weft: " + core.OneLine(reason, "it cannot run")
	if !ends {
		_ = p.command(ctx, "scontrol", "notify", r.job, text)
	}
	_ = p.command(ctx, "scontrol", "update", "JobId="+r.name(), "AdminComment="+text)
}

// name is how commands call a job. The id of one of an array's tasks is that of the array too, and a command to it would reach all of them.
func (r row) name() string {
	if _, err := strconv.ParseUint(r.task, 10, 32); err == nil && checkJob(r.array) == nil {
		return r.array + "_" + r.task
	}
	return r.job
}

// command runs one that changes something. That a job is over already is what was wanted.
func (p *Plugin) command(ctx context.Context, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, p.settings.patient)
	defer cancel()
	_, err := p.run(ctx, name, args...)
	if f, ok := errors.AsType[*command.Failure](err); ok {
		for _, over := range []string{"Invalid job id", "already completing or completed", "Job/step already"} {
			if strings.Contains(f.Says, over) {
				return nil
			}
		}
	}
	return command.Away(err)
}
