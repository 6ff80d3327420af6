// Package command runs programs of this host within bounds: few at a time, until the caller's deadline, with bounded
// output. The environment of a program holds only what its Programs say.
package command

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

// Bounds on a program.
const (
	atOnce     = 4         // of one Programs: a controller answers one question after the other
	maxOutput  = 256 << 20 // bytes: a scheduler's list of 100,000 to 300,000 jobs
	maxErrors  = 4 << 10   // bytes of standard error that are kept
	lastBreath = time.Second
)

// Runner runs one program and gives its standard output, whole or not at all. A program that ran and said no is a
// *Failure; every other error is a core.Error.
type Runner func(ctx context.Context, name string, args ...string) ([]byte, error)

// Failure is a program that ran and said no.
type Failure struct {
	Command string
	Says    string // its standard error, in one line
	Code    int    // its exit code
}

func (f *Failure) Error() string { return f.Command + ": " + f.Says }

// Away makes of a failure the error that a caller gets.
func Away(err error) error {
	if f, ok := errors.AsType[*Failure](err); ok {
		return core.Errorf(core.SchedulerAway, "%w", f)
	}
	return err
}

// Programs are those of one folder.
type Programs struct {
	Whose  string   // for errors: "Slurm's"
	Folder string   // an absolute path
	Env    []string // more than PATH, LC_ALL=C and TZ=UTC0
	Remedy string   // where a program is not in the folder
}

// Runner runs these programs, up to four at a time.
func (p Programs) Runner() Runner { return p.queue().run }

func (p Programs) queue() *queue {
	// Only UTC has each hour once, and many a program prints times without their offset.
	p.Env = append([]string{"PATH=" + p.Folder + ":/usr/bin:/bin", "LC_ALL=C", "TZ=UTC0"}, p.Env...)
	return &queue{p, make(chan struct{}, atOnce)}
}

type queue struct {
	Programs
	slots chan struct{}
}

func (q *queue) run(ctx context.Context, name string, args ...string) ([]byte, error) {
	select {
	case q.slots <- struct{}{}:
		defer func() { <-q.slots }()
	case <-ctx.Done():
		return nil, core.Errorf(core.SchedulerAway, "%s: %d of %s commands run already and do not end: %w",
			name, atOnce, q.Whose, ctx.Err())
	}
	out, errs := bounded{most: maxOutput}, bounded{most: maxErrors, cut: true}
	cmd := exec.CommandContext(ctx, filepath.Join(q.Folder, name), args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = q.Env, "/", &out, &errs, lastBreath
	err := cmd.Run()
	exit, ended := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return out.text.Bytes(), nil
	case ctx.Err() != nil:
		return nil, core.Errorf(core.SchedulerAway, "%s: it does not answer: %w", name, ctx.Err())
	case errors.Is(err, os.ErrNotExist):
		return nil, core.Errorf(core.SchedulerAway, "%s: %w", name, err).WithRemedy(q.Remedy)
	case out.full:
		return nil, core.Errorf(core.SchedulerAway, "%s: %w", name, errTooMuch)
	case ended:
		return nil, &Failure{Command: name, Says: core.OneLine(errs.text.String(), exit.String()), Code: exit.ExitCode()}
	}
	return nil, core.Errorf(core.SchedulerAway, "%s: %w", name, err)
}

var errTooMuch = errors.New("it says more than is read")

// bounded keeps what is written to it up to a bound. It cuts what is more, or ends the program with an error.
type bounded struct {
	text bytes.Buffer
	most int
	cut  bool
	full bool
}

func (b *bounded) Write(p []byte) (int, error) {
	room := b.most - b.text.Len()
	if len(p) <= room {
		return b.text.Write(p)
	}
	b.full = true
	if !b.cut {
		return 0, errTooMuch
	}
	b.text.Write(p[:room])
	return len(p), nil
}
