package main

import (
	"context"
	"io"
	"slices"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook/rundir"
)

// Bounds of what is sent, in bytes. The users' socket takes frames of 64 KiB.
const (
	maxArgs      = 16 << 10
	maxValue     = 128 << 10 // as the kernel has it: MAX_ARG_STRLEN, 32 pages
	maxRoot      = 512 << 10 // of all variables together
	maxUserValue = 16 << 10
	maxUser      = 32 << 10
)

// gather is what the phase wants of the hook's surroundings. A variable that is too long stays behind, and that is said: a user can make most of them as
// long as he likes, and must not make root's hook fail by it.
func (c *call) gather(ctx context.Context, phase rundir.Phase) (core.HookCall, error) {
	in := core.HookCall{Scheduler: c.scheduler, Phase: phase.Name, Args: c.args, Env: map[string]string{}, Parent: true}
	size := 0
	for _, a := range c.args {
		size += len(a)
	}
	if size > maxArgs {
		return in, core.Errorf(core.BadCall, "arguments: they have %d bytes and there may be %d", size, maxArgs)
	}
	var warned []string
	if len(phase.First) > 0 {
		warned = []string{rundir.Warned}
	}
	room, most := maxUser, maxUserValue
	if phase.Root {
		room, most = maxRoot, maxValue
	}
	// The job's id first: it is what must not stay behind.
	for _, name := range slices.Concat(phase.Job, phase.Step, phase.First, phase.Asks, phase.Variables, warned) {
		value, set := c.env(name)
		if _, have := in.Env[name]; have || !set {
			continue
		}
		if len(value) > min(most, room) {
			c.say("variable %s: it has %d bytes, which is too much, and is left out", name, len(value))
			continue
		}
		room -= len(value)
		in.Env[name] = value
	}
	if phase.Stdin > 0 {
		text, err := c.input(ctx, phase.Stdin)
		if err != nil {
			return in, err
		}
		in.Stdin = text
	}
	return in, nil
}

// input reads standard input, which may be a pipe into which nobody writes.
func (c *call) input(ctx context.Context, most int) ([]byte, error) {
	type result struct {
		text []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := io.ReadAll(io.LimitReader(c.stdin, int64(most)+1))
		done <- result{text, err}
	}()
	select {
	case r := <-done:
		switch {
		case r.err != nil:
			return nil, core.Errorf(core.BadCall, "standard input: %w", r.err)
		case len(r.text) > most:
			return nil, core.Errorf(core.BadCall, "standard input: it has more than %d bytes", most)
		}
		return r.text, nil
	case <-ctx.Done():
		return nil, core.Errorf(core.TimedOut, "standard input: it did not end within the time limit").WithRemedy("close it in the hook's script: </dev/null")
	}
}

// first is the value of the first of names that is set.
func (c *call) first(names []string) string {
	for _, name := range names {
		if value, ok := c.env(name); ok && value != "" {
			return value
		}
	}
	return ""
}

// job is the job that the hook's variables name, which proves nothing; without an id where the phase has no such variable.
func (c *call) job(phase rundir.Phase) (core.JobID, error) {
	job := core.JobID{Scheduler: c.scheduler, Job: c.first(phase.Job)}
	if job.Job == "" {
		return job, nil
	}
	if err := core.CheckJobID(job.Job); err != nil {
		return core.JobID{Scheduler: c.scheduler}, err
	}
	return job, nil
}
