package chaos

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// daemon is one process of a system, which starts again after it has ended, as under systemd.
type daemon struct {
	t    testing.TB
	make func() *exec.Cmd
	log  string

	mu    sync.Mutex
	news  *sync.Cond
	up    bool // it should run
	over  bool // it never runs again
	cmd   *exec.Cmd
	exits int // that were its own
	done  chan struct{}
}

// restart is the time until a daemon that has ended starts again.
const restart = 100 * time.Millisecond

func newDaemon(t testing.TB, log string, command func() *exec.Cmd) *daemon {
	d := &daemon{t: t, make: command, log: log, done: make(chan struct{})}
	d.news = sync.NewCond(&d.mu)
	go d.keep()
	t.Cleanup(d.end)
	return d
}

// keep runs the process while it should run.
func (d *daemon) keep() {
	defer close(d.done)
	d.mu.Lock()
	defer d.mu.Unlock()
	for {
		for !d.up && !d.over {
			d.news.Wait()
		}
		if d.over {
			return
		}
		if !d.run() {
			return
		}
	}
}

// run runs it once. The lock is held before and after, not meanwhile.
func (d *daemon) run() bool {
	f, err := os.OpenFile(d.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		d.t.Error(err)
		return false
	}
	defer f.Close()
	c := d.make()
	c.Stdout, c.Stderr = f, f
	if err := c.Start(); err != nil {
		d.t.Error(err)
		return false
	}
	d.cmd = c
	d.mu.Unlock()
	_ = c.Wait()
	d.mu.Lock()
	d.cmd = nil
	d.news.Broadcast()
	if d.up && !d.over {
		d.exits++
		d.mu.Unlock()
		<-time.After(restart)
		d.mu.Lock()
	}
	return true
}

// start has it run.
func (d *daemon) start() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.up = true
	d.news.Broadcast()
}

// kill ends it with SIGKILL, and returns when it has ended. It stays so until start.
func (d *daemon) kill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.up = false
	for d.cmd != nil {
		_ = d.cmd.Process.Kill()
		d.news.Wait()
	}
}

// signal sends a signal to the process that runs, if one does.
func (d *daemon) signal(s syscall.Signal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cmd != nil {
		_ = d.cmd.Process.Signal(s)
	}
}

func (d *daemon) end() {
	d.mu.Lock()
	d.over = true
	d.news.Broadcast()
	d.mu.Unlock()
	d.kill()
	<-d.done
}
