package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/plugins/flux/broker/brokertest"
)

// TestScripts runs testdata/script/*.txtar. Beside testscript's own commands they have
//
//	dev [FLAG…]              start `weft dev` and wait until every node is attached
//	down                     end it by SIGINT, see it exit with 0 and leave no process behind
//	none                     see that no process of the script is left
//	code N COMMAND…          run a command that exits with N
//	bad N COMMAND…           the same, with nothing on standard output and one line of weft's on standard error
//	until REGEXP COMMAND…    run a command again until it prints that
//	start NAME COMMAND…      run a command beside the script, its standard input open
//	said NAME REGEXP         wait until it has printed that; SAID is its last group then, where it has one
//	signal NAME SIGNAL       send it a signal
//	close NAME               end its standard input
//	ended NAME N             wait for it to exit with N, as a shell counts; stdout and stderr are its own then
//	repeat FILE TEXT N       write TEXT N times
func TestScripts(t *testing.T) {
	t.Parallel()
	root, err := os.MkdirTemp("", "weft")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !t.Failed() {
			os.RemoveAll(root)
		}
	})
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	config, err := filepath.Abs("../../config.hcl")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Files: scripts(t), WorkdirRoot: root, RequireExplicitExec: true, RequireUniqueNames: true, UpdateScripts: *update,
		Deadline: time.Now().Add(scriptsWithin), // a command that hangs ends by then, and says so
		Setup: func(e *testscript.Env) error {
			s := &side{work: e.WorkDir, procs: map[string]*proc{}}
			e.Values[sideKey{}] = s
			e.Defer(s.kill)
			e.Setenv("CONFIG", config)
			e.Setenv("GORACE", "atexit_sleep_ms=0") // else each process that a script starts sleeps a second at its end
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root":
				return os.Geteuid() == 0, nil
			case "mount":
				return exec.Command("unshare", "--mount", "true").Run() == nil, nil
			case "spank":
				_, err := os.Stat("/usr/include/slurm/spank.h")
				return err == nil, nil
			}
			return false, fmt.Errorf("condition %q is not known", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"dev": cmdDev, "down": cmdDown, "none": cmdNone, "code": cmdCode, "bad": cmdBad, "until": cmdUntil, "repeat": cmdRepeat,
			"start": cmdStart, "said": cmdSaid, "signal": cmdSignal, "close": cmdClose, "ended": cmdEnded, "broker": cmdBroker,
		},
	})
}

// scripts are all; under the race detector, which takes its time, those that ask for it: in them daemons do several
// things at a time.
func scripts(t *testing.T) (out []string) {
	all, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(all) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, path := range all {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !raced || bytes.HasPrefix(text, []byte("# raced: ")) {
			out = append(out, path)
		}
	}
	return out
}

// cmdBroker starts a Flux broker that has no job, and names it in BROKER.
func cmdBroker(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg || len(args) > 0, args, 0, "broker")
	dir, err := os.MkdirTemp("", "weft") // the script's own folder can be too long for a socket's path
	if err != nil {
		ts.Fatalf("%v", err)
	}
	ts.Defer(func() { _ = os.RemoveAll(dir) })
	b, err := brokertest.New(dir)
	if err != nil {
		ts.Fatalf("%v", err)
	}
	ts.Defer(b.Crash)
	ts.Setenv("BROKER", b.URI())
}

// need refuses a command of a script that is not written as it must be.
func need(ts *testscript.TestScript, neg bool, args []string, least int, form string) {
	if neg || len(args) < least {
		ts.Fatalf("usage: %s", form)
	}
}

func cmdDev(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 0, "dev [FLAG…]")
	flags := args
	if !strings.Contains(strings.Join(args, " "), "--config") {
		flags = append([]string{"--config", ts.Getenv("CONFIG")}, args...)
	}
	cmdStart(ts, false, append([]string{"dev", "weft", "dev"}, flags...))
	p := of(ts).procs["dev"]
	nodes := quiet(ts, "weft", "nodes")
	again(ts, "every node attached", func() (bool, string) {
		select {
		case <-p.done:
			ts.Fatalf("weft dev ended: %v\n%s", p.err, p.errs.String())
		default:
		}
		out, errs, err := nodes()
		rows := strings.Split(strings.TrimSpace(out), "\n")[1:]
		up := 0
		for _, r := range rows {
			if f := strings.Fields(r); len(f) > 1 && f[1] == "up" {
				up++
			}
		}
		return err == nil && up > 0 && up == len(rows), out + errs
	})
}

func cmdDown(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 0, "down")
	cmdSignal(ts, false, []string{"dev", "INT"})
	cmdEnded(ts, false, []string{"dev", "0"})
	cmdNone(ts, false, nil)
}

func cmdNone(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 0, "none")
	again(ts, "no process left", func() (bool, string) {
		left := of(ts).left()
		return len(left) == 0, fmt.Sprint(left)
	})
}

func cmdCode(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "code N COMMAND…")
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exitCode(e.ProcessState)
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("it exited with %d, not %s", got, args[0])
	}
}

func cmdBad(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "bad N COMMAND…")
	cmdCode(ts, false, args)
	said := ts.ReadFile("stderr")
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("it printed %q", out)
	}
	if !strings.HasPrefix(said, "weft: ") || strings.Count(said, "\n") != 1 || !strings.HasSuffix(said, "\n") {
		ts.Fatalf("it did not say one line: %q", said)
	}
}

func cmdUntil(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, false, args, 2, "[!] until REGEXP COMMAND…")
	want, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	run := quiet(ts, args[1:]...)
	var out, errs string
	again(ts, args[0], func() (bool, string) {
		var err error
		out, errs, err = run()
		return want.MatchString(out+errs) != neg && (!neg || err == nil), out + errs
	})
	fmt.Fprint(ts.Stdout(), out)
	fmt.Fprint(ts.Stderr(), errs)
}

func cmdRepeat(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 3, "repeat FILE TEXT N")
	n := 0
	_, err := fmt.Sscan(args[2], &n)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat(args[1], n)), 0o644))
}

// longest is the most that passes between two looks, of which many start a program.
const longest = 100 * time.Millisecond

// again tries until what is hoped for is so.
func again(ts *testscript.TestScript, what string, so func() (bool, string)) {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, longest) {
		ok, seen := so()
		if ok {
			return
		}
		select {
		case <-time.After(pause):
		case <-limit.C:
			ts.Fatalf("%s: not within %s; last seen: %s", what, patience, seen)
		}
	}
}

// exitCode is how a shell tells a process's end.
func exitCode(s *os.ProcessState) int {
	if s == nil {
		return cli.ExitRun
	}
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}
