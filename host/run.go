package host

import (
	"cmp"
	"crypto/rand"
	"errors"
	"io"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-hpc/weft/host/cgroup"
)

// Run is one run of a plugin's program. The program ends with this process, and its children end with it.
type Run struct {
	Group *cgroup.Group // for it and its children; nil: there is none
	Cmd   *exec.Cmd     // its environment may be set until Start
	Stdin io.Closer     // the end of the program's standard input
	Ended chan struct{} // closed when the program has ended; its children may go on
	Dead  chan struct{} // closed when its children have ended too, it is reaped and its output is read
	Err   error         // of the program's end, once it is dead

	life    string // the variable that its children inherit
	starved bool   // the kernel killed one of them for the group's memory
}

// lastWords bounds how long Weft reads the output of a dead program. The program's children may hold the pipe open.
const lastWords = 300 * time.Millisecond

// NewRun prepares a run.
func NewRun(p Program) *Run {
	cmd := &exec.Cmd{Path: p.Path, Args: p.Args, Dir: "/", SysProcAttr: &syscall.SysProcAttr{
		Pdeathsig: syscall.SIGKILL,
		Setpgid:   true, // what a terminal sends to the daemon's group is not for it, and its children end with it
	}}
	if len(cmd.Args) == 0 {
		cmd.Args = []string{p.Path}
	}
	return &Run{Cmd: cmd, Ended: make(chan struct{}), Dead: make(chan struct{}), life: lifeKey + "=" + rand.Text()}
}

// Start starts the program. stdout and stderr read what it prints, each to the end.
func (r *Run) Start(stdout, stderr func(io.Reader)) error {
	started := make(chan error, 1)
	go func() {
		// The kernel sends Pdeathsig when the thread that forked ends (golang/go#27505).
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var reading sync.WaitGroup
		err := r.spawn(&reading, stdout, stderr)
		started <- err
		if err == nil {
			r.bury(&reading)
		}
	}()
	return <-started
}

func (r *Run) spawn(reading *sync.WaitGroup, stdout, stderr func(io.Reader)) error {
	in, err1 := r.Cmd.StdinPipe()
	out, err2 := r.Cmd.StdoutPipe()
	errs, err3 := r.Cmd.StderrPipe()
	if err := cmp.Or(err1, err2, err3); err != nil {
		return err
	}
	r.Cmd.Env = append(r.Cmd.Env, r.life)
	if err := r.Cmd.Start(); err != nil {
		return err
	}
	if r.Group != nil {
		if err := r.Group.Add(r.Cmd.Process.Pid); err != nil {
			_ = r.Cmd.Process.Kill()
			_ = r.Cmd.Wait()
			return err
		}
	}
	r.Stdin = in
	reading.Go(func() { stdout(out) })
	reading.Go(func() { stderr(errs) })
	return nil
}

// bury waits for the program's end, ends its children, hears its last words and reaps it.
func (r *Run) bury(reading *sync.WaitGroup) {
	pid := r.Cmd.Process.Pid
	for {
		// It stays a zombie until Wait, so that its process group cannot be another's yet.
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	close(r.Ended)
	_ = unix.Kill(-pid, unix.SIGKILL)
	if r.Group == nil {
		end(func() []int { return strays(r.life) })
	} else {
		_ = r.Group.Seal() // a child that is born in spite of it is found
		end(r.Group.Processes)
		r.starved = r.Group.Starved()
		r.Group.Remove()
	}
	heard := make(chan struct{})
	go func() { reading.Wait(); close(heard) }()
	timer := time.NewTimer(lastWords)
	select {
	case <-heard:
	case <-timer.C:
	}
	timer.Stop()
	r.Err = r.Cmd.Wait() // closes the pipes
	<-heard
	close(r.Dead)
}
