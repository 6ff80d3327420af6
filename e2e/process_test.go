package e2e

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is one that a test started: a daemon, or what a user runs.
type process struct {
	cmd  *exec.Cmd
	name string
	log  string
	done chan struct{}
}

// spawn starts a program as root whose output goes to a file. It dies with the test.
func spawn(t testing.TB, name, log string, env []string, args ...string) *process {
	t.Helper()
	return spawnAs(t, user{name: "root"}, name, log, env, args...)
}

func spawnAs(t testing.TB, u user, name, log string, env []string, args ...string) *process {
	t.Helper()
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	must(t, err)
	defer f.Close()
	c := exec.Command(args[0], args[1:]...)
	c.Env, c.Stdout, c.Stderr = env, f, f
	c.SysProcAttr = u.process()
	must(t, c.Start())
	p := &process{cmd: c, name: name, log: log, done: make(chan struct{})}
	go func() {
		_ = c.Wait()
		close(p.done)
	}()
	return p
}

func (p *process) over() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// kill ends it in the middle of whatever it does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// stop asks it to end, and ends it when it does not.
func (p *process) stop() {
	if p.over() {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	limit := time.NewTimer(20 * time.Second)
	defer limit.Stop()
	select {
	case <-p.done:
	case <-limit.C:
		p.kill()
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// longest is the most that passes between two looks. Each look starts a program, and the systems of other tests need
// the processors, too.
const longest = 200 * time.Millisecond

// until waits for what must come.
func until(t testing.TB, what string, so func() (ok bool, seen string)) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for again := 20 * time.Millisecond; ; again = min(2*again, longest) {
		ok, seen := so()
		if ok {
			return
		}
		select {
		case <-time.After(again):
		case <-limit.C:
			t.Fatalf("%s: not within %s; last seen: %s", what, patience, seen)
		}
	}
}

// freePorts are n that nobody listens at. Somebody else may take one before its daemon does: the daemon then ends, and the cluster is made anew.
func freePorts(t testing.TB, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		defer ln.Close()
		ports = append(ports, ln.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// tail is the end of a file.
func tail(path string, most int) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	if len(text) > most {
		text = text[len(text)-most:]
	}
	return string(text)
}

// marked are the processes with a variable in their environment: what a daemon left behind that has a mark of its own.
func marked(variable string) []int {
	var pids []int
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		env, err := os.ReadFile(filepath.Join(d, "environ"))
		if err != nil || !bytes.Contains(append([]byte{0}, env...), []byte("\x00"+variable+"\x00")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(d)); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// quoted is a text as one word of a shell's.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
