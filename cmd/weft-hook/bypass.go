package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook/rundir"
)

// bypassLimit is how long a clean-up waits for an agent that is perhaps ill.
const bypassLimit = 5 * time.Second

// bypass goes by without Weft, as root's file says. What has only to be told still is, where there is an agent; nothing fails.
func (c *call) bypass(ctx context.Context, phase rundir.Phase) int {
	job, err := c.job(phase)
	c.warn(err)
	reply, note := phase.Bypass, "went by"
	switch phase.Action {
	case core.Prepare:
		c.exempt(job, phase.Observe)
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
func (c *call) exempt(job core.JobID, observed bool) {
	if job.Job == "" {
		c.say("Weft is bypassed, and the variables do not say which job this is: its tasks fail once the bypass is over")
		return
	}
	if observed {
		c.warn(c.dir.Observe(job))
	} else {
		c.warn(c.dir.Exempt(job))
	}
	c.warn(c.dir.RemoveEnviron(job))
}

// unknown goes by where the agent has not said what the phase is, or not so that this weft-hook understands it: an agent of another release, or one that
// could not start with a new config.hcl. The bypass is the way out of just that. Only a file that is not root's own is no excuse.
func (c *call) unknown(why error) int {
	if errors.Is(why, fs.ErrNotExist) {
		c.say("Weft is bypassed, and no agent has said yet what this hook is for: nothing is done and nothing unset")
	} else {
		c.say("Weft is bypassed, and what this hook is for cannot be told: nothing is done and nothing unset: %s", core.AsError(why).Line())
	}
	if c.uid == 0 {
		c.note("", "went by unknown")
	}
	return 0
}

func (c *call) note(job, what string) {
	c.warn(c.dir.NoteBypass(c.began, core.Clip(c.scheduler)+" "+core.Clip(c.phase)+" job "+cmp.Or(job, "?")+": "+what))
}

func (c *call) warn(err error) {
	if err != nil {
		c.say("%s", core.AsError(err).Line())
	}
}
