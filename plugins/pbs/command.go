package pbs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/weft-hpc/weft/core"
)

// Runner runs one of PBS's commands, by its name, or a program of the system, by its path. It gives the standard output, whole or not at all; that a command
// ran and said no is a *Failure.
type Runner func(ctx context.Context, name string, args ...string) ([]byte, error)

// Failure is a command that ran and said no.
type Failure struct {
	Command string
	Says    string // its standard error, in one line
	Code    int    // its exit code: PBS's commands end with the error's number, modulo 256
}

func (f *Failure) Error() string { return f.Command + ": " + f.Says }

// Bounds of what commands may take.
const (
	maxCommands = 4         // at a time: pbs_server answers one question after the other
	maxOutput   = 256 << 20 // bytes: some 100,000 jobs of an answer to Watch
	maxErrors   = 4 << 10   // bytes of standard error that are kept
	lastBreath  = time.Second
)

// commands run in an environment that holds nothing but what config.hcl says.
type commands struct {
	bin   string
	env   []string
	slots chan struct{}
}

func newCommands(s settings) *commands {
	bin := filepath.Join(s.exec, "bin")
	// qstat writes times as ctime(3) does: without an offset, so that only UTC has each hour once.
	env := []string{"PATH=" + bin + ":/usr/bin:/bin", "LC_ALL=C", "TZ=UTC0"}
	if s.server != "" {
		env = append(env, "PBS_SERVER="+s.server)
	}
	return &commands{bin: bin, env: env, slots: make(chan struct{}, maxCommands)}
}

func (c *commands) run(ctx context.Context, name string, args ...string) ([]byte, error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return nil, core.Errorf(core.SchedulerAway, "%s: %d of PBS's commands run already and do not end: %w", name, maxCommands, ctx.Err())
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.bin, name)
	}
	var out, says capped
	out.most, says.most, says.clip = maxOutput, maxErrors, true
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = c.env, "/", &out, &says, lastBreath
	err := cmd.Run()
	exit, ended := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return out.Bytes(), nil
	case ctx.Err() != nil:
		return nil, core.Errorf(core.SchedulerAway, "%s: it does not answer: %w", name, ctx.Err())
	case out.full:
		return nil, core.Errorf(core.SchedulerAway, "%s: it says more than %d bytes", name, maxOutput)
	case ended:
		return nil, &Failure{Command: name, Says: core.OneLine(says.String(), exit.String()), Code: exit.ExitCode()}
	}
	return nil, core.Errorf(core.SchedulerAway, "%s: %w", name, err).WithRemedy("set `" + fieldExec + "` in the scheduler's block of config.hcl to PBS_EXEC")
}

// capped keeps what is written to it up to a bound. What is more is dropped, or ends the command.
type capped struct {
	bytes.Buffer
	most int
	clip bool
	full bool
}

func (c *capped) Write(p []byte) (int, error) {
	if room := c.most - c.Len(); len(p) > room {
		c.full = true
		if !c.clip {
			return 0, fmt.Errorf("more than %d bytes", c.most)
		}
		_, _ = c.Buffer.Write(p[:room])
		return len(p), nil
	}
	return c.Buffer.Write(p)
}

// away makes of a command's failure what a caller is told.
func away(err error) error {
	if f, ok := errors.AsType[*Failure](err); ok {
		return core.Errorf(core.SchedulerAway, "%w", f)
	}
	return err
}
