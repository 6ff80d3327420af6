package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

type sideKey struct{}

// side is what runs beside a script.
type side struct {
	work  string
	procs map[string]*proc
}

func of(ts *testscript.TestScript) *side { return ts.Value(sideKey{}).(*side) }

type proc struct {
	cmd       *exec.Cmd
	stdin     io.Closer
	out, errs text
	done      chan struct{}
	err       error
}

// text is what a process has printed so far.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *text) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(b)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

func (s *side) find(ts *testscript.TestScript, name string) *proc {
	p := s.procs[name]
	if p == nil {
		ts.Fatalf("nothing of the name %s was started", name)
	}
	return p
}

func cmdStart(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "start NAME COMMAND…")
	s := of(ts)
	if p := s.procs[args[0]]; p != nil {
		select {
		case <-p.done:
		default:
			ts.Fatalf("%s runs already", args[0])
		}
	}
	path, err := exec.LookPath(args[1])
	ts.Check(err)
	p := &proc{cmd: exec.Command(path, args[2:]...), done: make(chan struct{})}
	p.cmd.Args[0] = args[1]
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = ts.MkAbs("."), environment(ts), &p.out, &p.errs
	p.cmd.WaitDelay = time.Second // what a killed process left behind may hold its output open
	p.stdin, err = p.cmd.StdinPipe()
	ts.Check(err)
	ts.Check(p.cmd.Start())
	s.procs[args[0]] = p
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
}

// environment is that of the script's own commands.
func environment(ts *testscript.TestScript) []string {
	ts.Check(ts.Exec("sh", "-c", "env -0 >.environment"))
	var env []string
	for kv := range strings.SplitSeq(ts.ReadFile(".environment"), "\x00") {
		if kv != "" {
			env = append(env, kv)
		}
	}
	return env
}

// quiet runs a command of the script again and again without a line in its log for each.
func quiet(ts *testscript.TestScript, command ...string) func() (stdout, stderr string, err error) {
	path, err := exec.LookPath(command[0])
	ts.Check(err)
	dir, env := ts.MkAbs("."), environment(ts)
	return func() (string, string, error) {
		var out, errs bytes.Buffer
		c := exec.Command(path, command[1:]...)
		c.Args[0], c.Dir, c.Env, c.Stdout, c.Stderr = command[0], dir, env, &out, &errs
		err := c.Run()
		return out.String(), errs.String(), err
	}
}

func cmdSaid(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "said NAME REGEXP")
	p := of(ts).find(ts, args[0])
	want, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	again(ts, args[0]+" said "+args[1], func() (bool, string) {
		over := false
		select {
		case <-p.done:
			over = true
		default:
		}
		if m := want.FindStringSubmatch(p.out.String() + p.errs.String()); m != nil {
			if len(m) > 1 {
				ts.Setenv("SAID", m[len(m)-1])
			}
			return true, ""
		}
		if over {
			ts.Fatalf("%s ended (%v) without saying %s: %s%s", args[0], p.err, args[1], p.out.String(), p.errs.String())
		}
		return false, p.out.String() + p.errs.String()
	})
}

func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "signal NAME SIGNAL")
	sig := unix.SignalNum("SIG" + args[1])
	if sig == 0 {
		ts.Fatalf("there is no signal %s", args[1])
	}
	ts.Check(of(ts).find(ts, args[0]).cmd.Process.Signal(sig))
}

func cmdClose(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "close NAME")
	ts.Check(of(ts).find(ts, args[0]).stdin.Close())
}

func cmdEnded(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 2, "ended NAME N")
	p := of(ts).find(ts, args[0])
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-p.done:
	case <-t.C:
		ts.Fatalf("%s did not end within %s: %s%s", args[0], patience, p.out.String(), p.errs.String())
	}
	fmt.Fprint(ts.Stdout(), p.out.String())
	fmt.Fprint(ts.Stderr(), p.errs.String())
	if p.err != nil && !errors.As(p.err, new(*exec.ExitError)) {
		ts.Fatalf("%s: %v", args[0], p.err)
	}
	if got := fmt.Sprint(exitCode(p.cmd.ProcessState)); got != args[1] {
		ts.Fatalf("%s exited with %s, not %s", args[0], got, args[1])
	}
}

// left are the processes that the script began, by what their environment says of its folder.
func (s *side) left() []string {
	var found []string
	mark := []byte("\x00WORK=" + s.work + "\x00")
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		env, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(append([]byte{0}, env...), mark) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		found = append(found, filepath.Base(filepath.Dir(path))+" "+string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
	}
	return found
}

// kill leaves nothing behind of a script that failed.
func (s *side) kill() {
	for _, p := range s.procs {
		_ = p.cmd.Process.Kill()
		<-p.done
	}
	for _, line := range s.left() {
		var pid int
		if _, err := fmt.Sscan(line, &pid); err == nil && pid != os.Getpid() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
