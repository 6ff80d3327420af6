package demo

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"sync"
)

// launched is a program of the story. It ends when its standard input is closed.
type launched struct {
	cmd       *exec.Cmd
	stdin     io.WriteCloser
	out, errs buffer
	done      chan struct{}
}

// buffer is the text that a program has written so far.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// weft starts this program beside the story.
func (s *story) weft(args ...string) *launched {
	self, err := os.Executable()
	check(err)
	j := &launched{done: make(chan struct{})}
	j.cmd = exec.CommandContext(s.ctx, self, append([]string{"--dir", s.dir}, args...)...)
	j.cmd.Stdout, j.cmd.Stderr = &j.out, &j.errs
	j.stdin, err = j.cmd.StdinPipe()
	check(err)
	check(j.cmd.Start())
	s.jobs = append(s.jobs, j)
	go func() {
		_ = j.cmd.Wait()
		close(j.done)
	}()
	return j
}

// finish lets a program end, and gives its exit code; -1 where a signal ended it.
func (s *story) finish(j *launched) int {
	_ = j.stdin.Close()
	select {
	case <-j.done:
	case <-s.ctx.Done():
		check(s.ctx.Err())
	}
	return j.cmd.ProcessState.ExitCode()
}

// finishAll lets jobs end, which must end well.
func (s *story) finishAll(jobs ...*launched) {
	for _, j := range jobs {
		if code := s.finish(j); code != 0 {
			deviate("a job ended with exit code %d: %s", code, &j.errs)
		}
	}
}

// end leaves no process behind.
func (s *story) end() {
	for _, j := range s.jobs {
		_ = j.cmd.Process.Kill()
		<-j.done
	}
}
