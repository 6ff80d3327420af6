package slurm

import (
	"context"
	"errors"
	"strconv"
	"strings"

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
	if r == nil || r.restarts != key.Generation && key.Generation != core.AnyGeneration || !lives(*r) {
		return nil
	}
	p.tell(ctx, *r, reason)
	if again && r.batch && r.requeue {
		return p.command(ctx, "scontrol", "requeue", r.name())
	}
	return p.command(ctx, "scancel", r.name())
}

// tell leaves the reason where a user finds it. That it cannot is no reason to let the job run.
func (p *Plugin) tell(ctx context.Context, r row, reason string) {
	text := "weft: " + core.OneLine(reason, "it cannot run")
	_ = p.command(ctx, "scontrol", "notify", r.job, text)
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
