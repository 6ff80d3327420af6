package slurm

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/weft-hpc/weft/core"
)

// runner runs one of Slurm's commands and gives its standard output, whole or not at all.
type runner func(ctx context.Context, name string, args ...string) ([]byte, error)

// Bounds of what commands may take.
const (
	maxCommands = 4         // at a time
	maxOutput   = 256 << 20 // bytes: 300,000 jobs of an answer to Watch
	maxErrors   = 4 << 10   // bytes of standard error that are kept
	lastBreath  = time.Second
)

// failure is a command that ran and said no.
type failure struct {
	command string
	says    string
	code    int
}

func (f *failure) Error() string { return f.command + ": " + f.says }

// commands run as few at a time as a controller can bear, in an environment that holds nothing but what config.hcl says.
type commands struct {
	bin   string
	env   []string
	slots chan struct{}
}

func newCommands(s settings) *commands {
	// SLURM_TIME_FORMAT is strftime's: seconds since 1970 know no time zone and no hour that comes twice.
	env := []string{"PATH=" + s.bin + ":/usr/bin:/bin", "LC_ALL=C", "TZ=UTC0", "SLURM_TIME_FORMAT=%s"}
	if s.conf != "" {
		env = append(env, "SLURM_CONF="+s.conf)
	}
	return &commands{bin: s.bin, env: env, slots: make(chan struct{}, maxCommands)}
}

func (c *commands) run(ctx context.Context, name string, args ...string) ([]byte, error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return nil, core.Errorf(core.SchedulerAway, "%s: %d of Slurm's commands run already and do not end: %w", name, maxCommands, ctx.Err())
	}
	out, errs := bounded{most: maxOutput}, bounded{most: maxErrors, cut: true}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.bin, name)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = c.env, "/", &out, &errs, lastBreath
	err := cmd.Run()
	switch exit := (*exec.ExitError)(nil); {
	case err == nil:
		return out.text.Bytes(), nil
	case ctx.Err() != nil:
		return nil, core.Errorf(core.SchedulerAway, "%s: it does not answer: %w", name, ctx.Err())
	case errors.Is(err, os.ErrNotExist):
		return nil, core.Errorf(core.SchedulerAway, "%s: %w", name, err).WithRemedy("set `" + fieldBin + "` in the scheduler's block of config.hcl to the folder of Slurm's commands")
	case errors.As(err, &exit) && !errors.Is(err, errTooMuch):
		return nil, &failure{command: name, says: core.OneLine(errs.text.String(), "exit code "+exit.String()), code: exit.ExitCode()}
	}
	return nil, core.Errorf(core.SchedulerAway, "%s: %w", name, err)
}

var errTooMuch = errors.New("it says more than is read")

// bounded keeps what is written to it up to a bound; what is more is cut, or an error that ends the command.
type bounded struct {
	text bytes.Buffer
	most int
	cut  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	room := b.most - b.text.Len()
	if len(p) <= room {
		return b.text.Write(p)
	}
	if !b.cut {
		return 0, errTooMuch
	}
	b.text.Write(p[:room])
	return len(p), nil
}

// away makes of a command's failure what a caller is told.
func away(err error) error {
	if f, ok := errors.AsType[*failure](err); ok {
		return core.Errorf(core.SchedulerAway, "%w", f)
	}
	return err
}
