package host

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is one run of a program, as go-plugin's runner.Runner. Everything that it prints but the handshake is read here and never by go-plugin, whose
// scanner stops at a line of 64 KiB (the plugin then blocks in its next write for ever) and whose log parser panics at a line such as {"@message":1}.
type process struct {
	cmd      *exec.Cmd
	output   *output
	lifeline *os.File // the write end of its standard input; it ends when this process does
	outputs  [2]*os.File
	shake    *io.PipeReader

	pid    int
	dead   chan struct{} // closed when it has been reaped
	err    error         // of cmd.Wait, once dead
	mu     sync.Mutex
	handle *os.Process // once it was started
	reason string      // why it was killed, when it was
}

// lastWords is how long what a dead program printed is still read: its children may hold the pipe open.
const lastWords = 300 * time.Millisecond

// newProcess prepares a run; its environment is set when go-plugin has made it.
func newProcess(p Program, log *slog.Logger) *process {
	cmd := &exec.Cmd{Path: p.Path, Args: p.Args, Dir: "/", SysProcAttr: &syscall.SysProcAttr{
		Pdeathsig: syscall.SIGKILL,
		Setpgid:   true, // what a terminal sends to the daemon's group is not for it, and its children end with it
	}}
	if len(cmd.Args) == 0 {
		cmd.Args = []string{p.Path}
	}
	return &process{cmd: cmd, output: newOutput(log), dead: make(chan struct{})}
}

// Start starts it, on a thread that lives as long as it does: the kernel sends Pdeathsig when the thread that forked ends (golang/go#27505).
func (p *process) Start(context.Context) error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.spawn()
		started <- err
		if err == nil {
			p.bury()
		}
	}()
	return <-started
}

func (p *process) spawn() (err error) {
	var ends []*os.File
	pipe := func() (r, w *os.File) {
		if err == nil {
			if r, w, err = os.Pipe(); err == nil {
				ends = append(ends, r, w)
			}
		}
		return r, w
	}
	in, lifeline := pipe()
	out, outEnd := pipe()
	errs, errsEnd := pipe()
	if err == nil {
		p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = in, outEnd, errsEnd
		err = p.cmd.Start()
	}
	if err != nil {
		for _, f := range ends {
			f.Close()
		}
		return err
	}
	for _, f := range []*os.File{in, outEnd, errsEnd} {
		f.Close()
	}
	p.mu.Lock()
	p.pid, p.handle = p.cmd.Process.Pid, p.cmd.Process
	late := p.reason != ""
	p.mu.Unlock()
	if late {
		_ = p.cmd.Process.Kill()
	}
	p.lifeline, p.outputs = lifeline, [2]*os.File{out, errs}
	shake, told := io.Pipe()
	p.shake = shake
	p.output.reading.Go(func() { p.output.stdout(out, told) })
	p.output.reading.Go(func() { p.output.read(bufio.NewReaderSize(errs, maxLine), "stderr") })
	return nil
}

// bury waits for the program's end, ends what it left behind, reaps it and hears its last words.
func (p *process) bury() {
	for {
		// It stays a zombie until Wait, so that its process group cannot be another's yet.
		err := unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	_ = unix.Kill(-p.pid, unix.SIGKILL)
	p.err = p.cmd.Wait()
	p.lifeline.Close()
	heard := make(chan struct{})
	go func() { p.output.reading.Wait(); close(heard) }()
	timer := time.NewTimer(lastWords)
	select {
	case <-heard:
	case <-timer.C:
	}
	timer.Stop()
	for _, f := range p.outputs {
		f.Close()
	}
	<-heard
	close(p.dead)
}

// kill ends it at once, by its handle; reason is for people. It does not wait.
func (p *process) kill(reason string) {
	p.mu.Lock()
	if p.reason == "" {
		p.reason = reason
	}
	handle := p.handle
	p.mu.Unlock()
	if handle != nil {
		_ = handle.Kill() // os.ErrProcessDone is as well
	}
}

// ran reports whether there was ever a process.
func (p *process) ran() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.handle != nil
}

// why it is dead, for people.
func (p *process) why() string {
	<-p.dead
	p.mu.Lock()
	said := p.reason
	p.mu.Unlock()
	if said == "" {
		said = "it ended by itself: exit status 0"
		if p.err != nil {
			said = "it ended by itself: " + p.err.Error()
		}
	}
	if words := p.output.last(); words != "" {
		said += ": its last words: " + words
	}
	return said
}

// Wait waits for its end.
func (p *process) Wait(context.Context) error {
	<-p.dead
	return p.err
}

// Kill is go-plugin's.
func (p *process) Kill(context.Context) error {
	p.kill("")
	return nil
}

// Stdout has the handshake and nothing else.
func (p *process) Stdout() io.ReadCloser { return p.shake }

// Stderr has nothing: see process.
func (p *process) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name is the program's.
func (p *process) Name() string { return p.cmd.Path }

// ID is the process's.
func (p *process) ID() string { return strconv.Itoa(p.pid) }

// Diagnose says what it printed instead of a handshake.
func (p *process) Diagnose(context.Context) string { return p.output.last() }

// PluginToHost leaves addresses as they are.
func (p *process) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

// HostToPlugin leaves addresses as they are.
func (p *process) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
