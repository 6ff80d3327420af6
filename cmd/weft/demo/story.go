package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/dev"
	"github.com/weft-hpc/weft/server"
)

// story is the demo's state.
type story struct {
	ctx        context.Context
	out        io.Writer
	colour     bool
	dir        string
	sys        *dev.System
	opts       dev.Options
	o          *cli.Options
	number     int
	quarantine time.Duration // of the pool
	alice      []string      // flags of the two users
	bob        []string
	names      [2]string
	jobs       []*launched
	given      []uint16 // every VNI that a job of the story got
}

// launched is a `weft run` of the story, its command waiting for its standard input to close.
type launched struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bytes.Buffer
	errs  *bytes.Buffer
	lines chan string
	done  chan struct{}
	err   error
}

// says is what each job of the story runs on each of its nodes: it prints what Weft gave it, and works until it is told to end.
const says = `env | grep -E '^(SLINGSHOT_|FI_CXI)' | sort | sed "s/^/$WEFT_NODE  /"; echo READY; read end || true`

// start begins a job and waits until its command has said READY on each of its nodes.
func (s *story) start(flags []string, on ...string) (*launched, error) {
	j, err := s.launch(append(flags, "--on", strings.Join(on, ",")), "sh", "-c", says)
	if err != nil {
		return nil, err
	}
	for range on {
		if err := j.ready(s.ctx); err != nil {
			return nil, err
		}
	}
	return j, nil
}

func (s *story) launch(flags []string, command ...string) (*launched, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := append([]string{"--dir", s.dir, "run", "--scheduler", s.opts.Local}, flags...)
	j := &launched{out: &bytes.Buffer{}, errs: &bytes.Buffer{}, lines: make(chan string, 64), done: make(chan struct{})}
	j.cmd = exec.CommandContext(s.ctx, self, append(append(args, "--"), command...)...)
	j.cmd.Stderr = j.errs
	j.cmd.Stdout = &liner{to: j.lines, copy: j.out}
	if j.stdin, err = j.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := j.cmd.Start(); err != nil {
		return nil, err
	}
	s.jobs = append(s.jobs, j)
	go func() {
		j.err = j.cmd.Wait()
		close(j.done)
	}()
	return j, nil
}

func (j *launched) ready(ctx context.Context) error {
	for {
		select {
		case line := <-j.lines:
			if line == "READY" {
				return nil
			}
		case <-j.done:
			return fmt.Errorf("a job ended before it was ready: %w: %s", j.err, j.errs)
		case <-ctx.Done():
			return fmt.Errorf("a job was not ready in time: %w: %s", ctx.Err(), j.errs)
		}
	}
}

// printed is what the job's command said, without its READY.
func (j *launched) printed() string { return strings.ReplaceAll(j.out.String(), "READY\n", "") }

// finish lets the command end, and waits for it.
func (j *launched) finish(ctx context.Context) error {
	_ = j.stdin.Close()
	select {
	case <-j.done:
		return j.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// end leaves no process behind.
func (s *story) end() {
	for _, j := range s.jobs {
		select {
		case <-j.done:
		default:
			_ = j.cmd.Process.Kill()
			<-j.done
		}
	}
}

// vnis asks who holds what.
func (s *story) vnis() ([]server.VNIRow, error) {
	return cli.List[server.VNIRow](s.ctx, s.o, "vnis", nil)
}

func (s *story) nodes() ([]server.NodeRow, error) {
	return cli.List[server.NodeRow](s.ctx, s.o, "nodes", nil)
}

// services are the jobs' services on a node's NICs.
func (s *story) services(node string) ([]agent.ServiceRow, error) {
	rows, err := cli.ListNode[agent.ServiceRow](s.ctx, s.o, node, "services", nil)
	kept := rows[:0]
	for _, r := range rows {
		if r.Kind == "job" || r.Kind == "unknown" {
			kept = append(kept, r)
		}
	}
	return kept, err
}

// until asks again until what is hoped for is so; it says what was last seen when it never is.
func (s *story) until(what string, so func() (bool, string, error)) error {
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(10*time.Second + s.quarantine)
	defer limit.Stop()
	seen := ""
	for {
		ok, now, err := so()
		if err != nil {
			return err
		}
		if ok {
			return nil
		}
		seen = now
		select {
		case <-tick.C:
		case <-limit.C:
			return fmt.Errorf("%s: not within %s; last seen: %s", what, 10*time.Second+s.quarantine, seen)
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
}

// state waits until the VNI is in a state, and gives it as it was then.
func (s *story) state(vni uint16, want string) ([]server.VNIRow, error) {
	return s.become(vni, want, func(r server.VNIRow) bool { return r.State == want })
}

// rests waits until the VNI is in its quarantine. On a slow machine that may be over before anybody looks, but not before it has lasted, and the
// job has not ended before since.
func (s *story) rests(since time.Time, vnis ...uint16) error {
	for _, vni := range vnis {
		if _, err := s.become(vni, "quarantined", func(r server.VNIRow) bool {
			return r.State == "quarantined" || r.State == "free" && time.Since(since) >= s.quarantine
		}); err != nil {
			return err
		}
	}
	return nil
}

func (s *story) become(vni uint16, want string, is func(server.VNIRow) bool) (seen []server.VNIRow, _ error) {
	return seen, s.until(fmt.Sprintf("VNI %d %s", vni, want), func() (bool, string, error) {
		rows, err := cli.List[server.VNIRow](s.ctx, s.o, "vnis", server.JobArgs{VNI: vni})
		if err != nil {
			return false, "", err
		}
		seen = rows
		return len(rows) == 1 && is(rows[0]), fmt.Sprintf("%+v", rows), nil
	})
}

// liner hands on whole lines.
type liner struct {
	to   chan<- string
	copy *bytes.Buffer
	rest []byte
}

func (l *liner) Write(b []byte) (int, error) {
	l.copy.Write(b)
	l.rest = append(l.rest, b...)
	for {
		i := bytes.IndexByte(l.rest, '\n')
		if i < 0 {
			return len(b), nil
		}
		select {
		case l.to <- string(l.rest[:i]):
		default:
		}
		l.rest = l.rest[i+1:]
	}
}

// indent sets what an operator would see apart from the story.
type indent struct {
	w   io.Writer
	mid bool
}

func (i *indent) Write(b []byte) (int, error) {
	for line := range bytes.SplitAfterSeq(b, []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		if !i.mid {
			if _, err := io.WriteString(i.w, "     "); err != nil {
				return 0, err
			}
		}
		if _, err := i.w.Write(line); err != nil {
			return 0, err
		}
		i.mid = line[len(line)-1] != '\n'
	}
	return len(b), nil
}

// exitOf is a command's exit code, or -1.
func exitOf(err error) int {
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return e.ExitCode()
	}
	if err == nil {
		return 0
	}
	return -1
}
