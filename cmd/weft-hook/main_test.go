package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev/effort"
	"github.com/weft-hpc/weft/hook/listener"
	"github.com/weft-hpc/weft/hook/rundir"
)

// program is weft-hook as a site runs it.
var program string

const nobody = 65534

func TestMain(m *testing.M) {
	effort.Together(16)
	d, err := os.MkdirTemp("", "weft-hook")
	if err == nil {
		err = os.Chmod(d, 0o755) // other users must reach it
	}
	if err == nil {
		program = filepath.Join(d, "weft-hook")
		err = build(program, ".")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(d)
		os.Exit(code)
	}))
}

func build(to, what string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", to, what)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// place is a run directory that other users reach, with a path short enough for a socket.
func place(t testing.TB) rundir.Dir {
	t.Helper()
	d, err := os.MkdirTemp("", "weft")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(d) })
	must(t, os.Chmod(d, 0o755))
	return rundir.Dir(d)
}

const unsets = "unset SLINGSHOT_VNIS\n"

// plan is a node with one scheduler. A test's limit is long enough to be met by an agent that answers, and short for one that does not.
func plan(limit time.Duration) rundir.Hooks {
	phase := func(p core.HookPhase, bypass string) rundir.Phase {
		p.Job, p.Limit = []string{"HET_ID", "JOB_ID"}, limit
		return rundir.Phase{HookPhase: p, Bypass: core.HookReply{Stdout: []byte(bypass)}}
	}
	return rundir.Hooks{Node: "n1", Schedulers: []rundir.Scheduler{{Name: "tioga", Type: "slurm", Phases: []rundir.Phase{
		phase(core.HookPhase{Name: "prolog", Action: core.Prepare, Root: true, Variables: []string{"JOB_UID", "COMMENT"}}, unsets),
		phase(core.HookPhase{Name: "taskprolog", Action: core.Environment, Step: []string{"STEP_ID"}, First: []string{"TASK", "STEP_ID"}, Asks: []string{"NETWORK"}, Variables: []string{"COMMENT"}}, unsets),
		phase(core.HookPhase{Name: "epilog", Action: core.CleanUp, Root: true}, ""),
		phase(core.HookPhase{Name: "input", Action: core.Room, Stdin: 64}, ""),
	}}}}
}

// The limits of phases: of one that is to be answered, and of one that looks for an agent that is not there.
const (
	patient = 20 * time.Second
	alone   = 2 * time.Second
)

func planned(t testing.TB, limit time.Duration) rundir.Dir {
	t.Helper()
	d := place(t)
	must(t, d.WriteHooks(plan(limit)))
	return d
}

// said is what a run of weft-hook came to.
type said struct {
	out, err string
	exit     int
	took     time.Duration
}

// line reports whether all that it said is one line on standard error.
func (s said) line() bool {
	return s.out == "" && strings.Count(s.err, "\n") == 1 && strings.HasSuffix(s.err, "\n") && strings.HasPrefix(s.err, "weft-hook: ")
}

// how a run differs from a plain one.
type how struct {
	env   []string
	stdin *os.File
	uid   uint32
	dead  string // "out", "err" or both: a pipe without a reader; "closed": standard output is closed
}

// run runs weft-hook, and fails the test if it hangs.
func run(t testing.TB, how how, args ...string) said {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patient)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = how.env
	if cmd.Env == nil {
		cmd.Env = []string{"JOB_ID=7", "GOMAXPROCS=1"} // as hook files have it
	}
	if how.stdin != nil {
		cmd.Stdin = how.stdin
	}
	if how.uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: how.uid, Gid: how.uid}}
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if how.dead != "" {
		read, write, err := os.Pipe()
		must(t, err)
		must(t, read.Close())
		defer write.Close()
		if strings.Contains(how.dead, "out") {
			cmd.Stdout = write
		}
		if strings.Contains(how.dead, "err") {
			cmd.Stderr = write
		}
		if how.dead == "closed" {
			sh, err := exec.LookPath("sh")
			must(t, err)
			cmd.Path, cmd.Args = sh, append([]string{sh, "-c", `exec "$0" "$@" >&-`, program}, args...)
		}
	}
	began := time.Now()
	err := cmd.Run()
	s := said{out: out.String(), err: errs.String(), took: time.Since(began), exit: cmd.ProcessState.ExitCode()}
	if ctx.Err() != nil {
		t.Fatalf("it hung: %+v", s)
	}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return s
}

// serve answers at a socket of d until the test ends.
func serve(t testing.TB, path string, mode os.FileMode, bounds listener.Bounds, handler listener.Handler) {
	t.Helper()
	ln, err := listener.Listen(path, mode)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- (&listener.Server{Bounds: bounds}).Serve(ctx, ln, handler) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
}

// root skips a test that only root can make.
func root(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
}
