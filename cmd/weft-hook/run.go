package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/rundir"
)

// run is the hook, once it is known what was called; it returns the exit code.
func (c *call) run() int {
	if err := c.dir.Check(); err != nil {
		return c.fail(err)
	}
	_, bypassed, err := c.dir.Bypass(c.began)
	c.warn(err)
	label, phase, err := c.find()
	switch {
	case err == nil:
	case bypassed && core.AsError(err).Reason != core.NotAllowed:
		return c.unknown(err)
	default:
		return c.fail(err)
	}
	c.scheduler = label
	if phase.Root && c.before == "" { // a caller with --say ends a step or a task
		c.drains, c.of = true, core.Clip(c.first(phase.Job))
	}
	c.watch.Reset(phase.Limit - time.Since(c.began))
	ctx, cancel := context.WithDeadline(context.Background(), c.began.Add(phase.Limit-margin(phase.Limit)))
	defer cancel()
	if phase.Observe {
		phase.Bypass = phase.Leave
	}
	switch {
	case phase.Action == core.Environment:
		return c.environment(ctx, phase, bypassed)
	case bypassed:
		return c.bypass(ctx, phase)
	case phase.Observe:
		return c.observe(ctx, phase)
	}
	return c.ask(ctx, phase)
}

// find looks up what the agent left about this phase.
func (c *call) find() (label string, phase rundir.Phase, err error) {
	hooks, err := c.dir.Hooks()
	if err != nil {
		return "", rundir.Phase{}, err
	}
	return hooks.Find(c.scheduler, c.phase)
}

// margin is what of a limit is left for the line that says what was wrong.
func margin(limit time.Duration) time.Duration { return min(limit/8, 250*time.Millisecond) }

// environment tells a job's variables to one of its tasks: by the file that prepare left, and only where there is none by the agent, since all tasks of
// a job start at once.
func (c *call) environment(ctx context.Context, phase rundir.Phase, bypassed bool) int {
	goesBy := bypassed || phase.Observe
	if !goesBy && hook.Unread(os.Stdout) {
		return c.fail(core.Errorf(core.InternalFault, "standard output: nobody reads the job's variables: it is closed, or %s", os.DevNull))
	}
	job, err := c.job(phase)
	if err != nil && !goesBy {
		return c.fail(err)
	}
	// An exemption beside a file is the younger of the two: a prepare ends exemptions, a bypassed one removes the file.
	switch {
	case job.Job == "":
	case c.dir.Observed(job):
		return c.reply(phase.Leave)
	case c.dir.Exempted(job):
		return c.reply(phase.Bypass)
	}
	left := false // the job has a file here, which this may not read or which is of another boot of its NICs
	if job.Job != "" {
		e, err := c.dir.Environ(job)
		left = !errors.Is(err, fs.ErrNotExist)
		step := c.first(phase.Step)
		asks := !goesBy && step != "" && c.first(phase.Asks) != "" // for itself, which no file can answer
		if r, ok := e.Told(phase.Name, phase.Leads(c.env, job)); err == nil && ok && rundir.Hold(e.Signs) && !asks {
			if reply, ok := r.For(step); ok {
				return c.reply(reply)
			}
		}
		if bypassed && !errors.Is(err, fs.ErrNotExist) {
			c.warn(err)
		}
	}
	if bypassed || phase.Observe && !left {
		return c.reply(phase.Bypass)
	}
	return c.ask(ctx, phase)
}

// answer is a core.HookReply that was really given: a reply without an exit code is none.
type answer struct {
	core.HookReply
	Exit *int
}

// ask calls the agent, also one that restarts meanwhile, and says what it answers.
func (c *call) ask(ctx context.Context, phase rundir.Phase) int {
	in, err := c.gather(ctx, phase)
	if err != nil {
		return c.unanswered(phase, err)
	}
	var reply core.HookReply
	err = hook.Again(ctx, phase.Limit, func() (err error) {
		reply, err = c.send(ctx, phase, in)
		return err
	})
	if err != nil {
		return c.unanswered(phase, err)
	}
	return c.reply(reply)
}

// unanswered is a failure, unless the site has chosen that this phase goes by when nobody answers.
func (c *call) unanswered(phase rundir.Phase, err error) int {
	if e := core.AsError(err); phase.Away != nil && (e.Reason == core.ServerAway || e.Reason == core.TimedOut || e.Reason == core.Overloaded) {
		c.say("it goes by, as on_failure = \"degrade\" of the policy has it: %s", e.Line())
		return c.reply(*phase.Away)
	}
	return c.fail(err)
}

// agent makes one call to the agent.
func (c *call) agent(ctx context.Context, phase rundir.Phase) (core.HookReply, error) {
	in, err := c.gather(ctx, phase)
	if err != nil {
		return core.HookReply{}, err
	}
	return c.send(ctx, phase, in)
}

func (c *call) send(ctx context.Context, phase rundir.Phase, in core.HookCall) (core.HookReply, error) {
	path := c.dir.Socket(phase.Root)
	var a answer
	if err := hook.Call(ctx, path, "hook", in, &a); err != nil {
		return core.HookReply{}, err
	}
	if a.Exit == nil || *a.Exit < 0 || *a.Exit > 255 {
		return core.HookReply{}, core.Errorf(core.InternalFault, "%s: its answer holds no exit code from 0 to 255", path).
			WithRemedy("see whether it is an agent of this release that listens there")
	}
	a.HookReply.Exit = *a.Exit
	return a.HookReply, nil
}

// reply says what the adapter says. Output that cannot be written whole is a failure: half an environment is worse than none.
func (c *call) reply(r core.HookReply) int {
	if len(r.Stderr) > 0 {
		_, _ = c.stderr.Write(r.Stderr)
	}
	if len(r.Stdout) > 0 {
		if _, err := c.stdout.Write(r.Stdout); err != nil {
			return c.fail(core.Errorf(core.InternalFault, "standard output: %w", err))
		}
	}
	return r.Exit
}
