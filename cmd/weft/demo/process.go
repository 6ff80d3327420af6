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
)

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

// weft starts this program beside the story.
func (s *story) weft(args ...string) (*launched, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	j := &launched{out: &bytes.Buffer{}, errs: &bytes.Buffer{}, lines: make(chan string, 64), done: make(chan struct{})}
	j.cmd = exec.CommandContext(s.ctx, self, append([]string{"--dir", s.dir}, args...)...)
	j.cmd.Stdout, j.cmd.Stderr = &liner{to: j.lines, copy: j.out}, j.errs
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
