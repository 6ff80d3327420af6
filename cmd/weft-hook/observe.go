package main

import (
	"context"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook/rundir"
)

// observeLimit is how long a hook of a scheduler that is only observed waits for the agent.
const observeLimit = 2 * time.Second

// observe tells the agent, which may hold a job that it prepared before the scheduler was only observed. Nothing fails.
func (c *call) observe(ctx context.Context, phase rundir.Phase) int {
	ctx, cancel := context.WithTimeout(ctx, observeLimit)
	defer cancel()
	reply, err := c.agent(ctx, phase)
	if err == nil {
		return c.reply(reply)
	}
	if job, err := c.job(phase); err == nil && job.Job != "" {
		switch phase.Action {
		case core.Prepare: // when jobs are served again, this one still runs as it is
			_ = c.dir.Observe(job)
		case core.CleanUp:
			_ = c.dir.Unexempt(job)
		case core.Environment, core.StepEnd, core.Running, core.Room:
		}
	}
	return c.reply(phase.Leave)
}
