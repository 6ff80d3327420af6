package probe

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/host"
	"github.com/weft-hpc/weft/sdk"
)

// Bounds of a process.
const (
	shaking = 10 * time.Second // from exec to the handshake: P1
	ending  = 5 * time.Second  // from the end of its standard input to SIGKILL
	maxLine = 64 << 10
	maxLog  = 4 << 20 // bytes of what it writes that are kept: the first
)

var handshake = regexp.MustCompile(`^\d+\|\d+\|(?:unix|tcp)\|`)

// process is a program that runs.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	folder string
	shook  chan string   // its handshake, once
	done   chan struct{} // closed when it was reaped
	err    error         // of its end, once done

	mu  sync.Mutex
	log strings.Builder
}

// start runs the program with the environment that a daemon gives it.
func start(p host.Program, folder string) (*process, error) {
	args := p.Args
	if len(args) == 0 {
		args = []string{p.Path}
	}
	r := &process{folder: folder, shook: make(chan string, 1), done: make(chan struct{})}
	r.cmd = &exec.Cmd{Path: p.Path, Args: args, Dir: "/", SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}, Env: append([]string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"LC_ALL=C.UTF-8",
		"TMPDIR=" + folder,
		sdk.LevelKey + "=debug",
		sdk.CookieKey + "=" + sdk.CookieValue,
		"PLUGIN_UNIX_SOCKET_DIR=" + folder,
		fmt.Sprintf("PLUGIN_PROTOCOL_VERSIONS=%d", sdk.Protocol),
	}, p.Env...)}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the kernel sends Pdeathsig when the thread that forked ends
		defer runtime.UnlockOSThread()
		read, err := r.spawn()
		started <- err
		if err == nil {
			r.bury(read)
		}
	}()
	if err := <-started; err != nil {
		return nil, core.Errorf(core.BadConfig, "plugin's program %s: it cannot be run: %w", p.Path, err)
	}
	return r, nil
}

// spawn starts it, and reads what it writes.
func (r *process) spawn() (read *sync.WaitGroup, err error) {
	if r.stdin, err = r.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	errs, err := r.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	read = &sync.WaitGroup{}
	read.Go(func() { r.read(out, true) })
	read.Go(func() { r.read(errs, false) })
	return read, nil
}

// bury waits for its end, and ends what it left behind.
func (r *process) bury(read *sync.WaitGroup) {
	for {
		err := unix.Waitid(unix.P_PID, r.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	_ = unix.Kill(-r.cmd.Process.Pid, unix.SIGKILL) // it is a zombie still, so its group is its own
	read.Wait()
	r.err = r.cmd.Wait()
	close(r.done)
}

// read keeps what it writes; of standard output the handshake is for the caller.
func (r *process) read(from io.Reader, shakes bool) {
	b := bufio.NewReaderSize(from, maxLine)
	for {
		line, err := b.ReadSlice('\n')
		if shakes && handshake.Match(line) {
			shakes = false
			r.shook <- strings.TrimSpace(string(line))
		} else if len(line) > 0 {
			r.mu.Lock()
			if r.log.Len() < maxLog {
				r.log.Write(line)
			}
			r.mu.Unlock()
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

func (r *process) logged() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.String()
}

// shake waits for its handshake.
func (r *process) shake(ctx context.Context) (string, error) {
	timer := time.NewTimer(shaking)
	defer timer.Stop()
	why := ""
	select {
	case line := <-r.shook:
		return line, nil
	case <-r.done:
		why = "it ended by itself"
		if r.err != nil {
			why += ": " + r.err.Error()
		}
	case <-timer.C:
		why = fmt.Sprintf("it printed no handshake in %s", shaking)
	case <-ctx.Done():
		why = context.Cause(ctx).Error()
	}
	if said := lastLine(r.logged()); said != "" {
		why += ": it said: " + said
	}
	return "", core.Errorf(core.PluginAway, "plugin's program %s: %s", r.cmd.Path, why).WithRemedy("see P1 in docs/plugins.md for what it must print")
}

// end ends it: politely, then by its handle.
func (r *process) end() {
	r.stdin.Close()
	timer := time.NewTimer(ending)
	defer timer.Stop()
	select {
	case <-r.done:
	case <-timer.C:
		_ = r.cmd.Process.Kill()
		<-r.done
	}
	os.RemoveAll(r.folder)
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return core.Clip(lines[len(lines)-1])
}
