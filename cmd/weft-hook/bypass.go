package main

import (
	"context"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook/rundir"
)

// bypassLimit is how long a clean-up waits for an agent that is perhaps ill.
const bypassLimit = 5 * time.Second

// bypass goes by without Weft, as root's file says. What has only to be told still is, where there is an agent; nothing fails.
func (c *call) bypass(ctx context.Context, phase rundir.Phase) int {
	job, err := c.job(phase)
	if err != nil {
		c.say("%s", core.AsError(err).Line())
	}
	reply, note := phase.Bypass, "went by"
	switch phase.Action {
	case core.Prepare:
		c.exempt(job)
	case core.CleanUp, core.Running:
		ctx, cancel := context.WithTimeout(ctx, bypassLimit)
		defer cancel()
		told, err := c.agent(ctx, phase)
		if err == nil {
			reply, note = told, "was answered by the agent"
		} else {
			note = "went by: " + core.AsError(err).What
		}
		if err != nil && phase.Action == core.CleanUp && job.Job != "" {
			c.warn(c.dir.Unexempt(job))
		}
	case core.Environment, core.StepEnd, core.Room:
	}
	if phase.Root {
		c.note(job.Job, note)
	}
	return c.reply(reply)
}

// exempt lets the tasks of a job run that was not prepared, also when the bypass is over. What an earlier run of the job left goes.
func (c *call) exempt(job core.JobID) {
	if job.Job == "" {
		c.say("Weft is bypassed, and the variables do not say which job this is: its tasks fail once the bypass is over")
		return
	}
	c.warn(c.dir.Exempt(job))
	c.warn(c.dir.RemoveEnviron(job))
}

// unknown goes by where no agent has ever said what the phase is.
func (c *call) unknown() int {
	c.say("Weft is bypassed, and no agent has said yet what this hook is for: nothing is done and nothing unset")
	if c.uid == 0 {
		c.note("?", "went by unknown")
	}
	return 0
}

func (c *call) note(job, what string) {
	if job == "" {
		job = "?"
	}
	c.warn(c.dir.NoteBypass(c.began, core.Clip(c.scheduler)+" "+core.Clip(c.phase)+" job "+job+": "+what))
}

func (c *call) warn(err error) {
	if err != nil {
		c.say("%s", core.AsError(err).Line())
	}
}
