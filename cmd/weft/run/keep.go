package run

import (
	"bytes"
	"cmp"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/weft-hpc/weft/cmd/weft/cli"
)

const keepVerb = "keep"

func NewKeep() *cobra.Command {
	return &cobra.Command{Use: keepVerb, Short: "Keep the commands of a job on several nodes, for weft run", Hidden: true, Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error { return keep() }}
}

type kept struct {
	mu   sync.Mutex
	live map[int]int // pid: its place
	over bool        // weft run is gone, or wants no more
}

func keep() error {
	// A terminal's signals go to the keeper as well, which only passes on what weft run tells it.
	signal.Notify(make(chan os.Signal, 1), passedOn...)
	// The kernel kills a command when the thread that started it ends, so that must live as long as this process.
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return cli.Exit(cli.ExitRun, fmt.Errorf("run: its keeper: subreaper: %w", err))
	}
	conn := os.NewFile(keeperConn, "weft run")
	unix.CloseOnExec(keeperConn)
	from, to := gob.NewDecoder(conn), gob.NewEncoder(conn)
	var spec keepSpec
	if err := from.Decode(&spec); err != nil {
		return cli.Exit(cli.ExitRun, fmt.Errorf("run: its keeper is for weft run alone: %w", err))
	}
	k := &kept{live: map[int]int{}}
	var begun keepBegun
	for i, env := range spec.Environs {
		c := exec.Command(spec.Path, spec.Args[1:]...)
		c.Args[0], c.Env, c.Stdin, c.Stdout, c.Stderr = spec.Args[0], env, os.Stdin, os.Stdout, os.Stderr
		c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Credential: spec.Cred}
		if err := c.Start(); err != nil {
			begun.Err = err.Error()
			break
		}
		k.live[c.Process.Pid] = i
		begun.PIDs = append(begun.PIDs, c.Process.Pid)
	}
	codes := make([]int, len(spec.Environs))
	if err := to.Encode(begun); err != nil || begun.Err != "" {
		k.over = true
		go k.kill()
	} else {
		go k.hear(from)
	}
	k.reap(codes)
	_ = to.Encode(cmp.Or(codes...)) // weft run may be gone, or want no code: a keeper complains to nobody
	return nil
}

// hear passes signals on, until weft run is gone.
func (k *kept) hear(from *gob.Decoder) {
	for {
		var s int
		if err := from.Decode(&s); err != nil {
			k.mu.Lock()
			k.over = true
			k.mu.Unlock()
			k.kill()
			return
		}
		k.mu.Lock()
		for pid := range k.live {
			_ = syscall.Kill(pid, syscall.Signal(s))
		}
		k.mu.Unlock()
	}
}

// reap waits for the commands, and for everything that they started when all is to end.
func (k *kept) reap(codes []int) {
	for {
		k.mu.Lock()
		done := len(k.live) == 0 && !k.over
		k.mu.Unlock()
		if done {
			return
		}
		var info unix.Siginfo
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil { // no child is left
			return
		}
		k.mu.Lock()
		var ws unix.WaitStatus
		if pid, err := unix.Wait4(-1, &ws, unix.WNOHANG, nil); err == nil && pid > 0 {
			if i, ok := k.live[pid]; ok {
				delete(k.live, pid)
				codes[i] = ws.ExitStatus()
				if ws.Signaled() {
					codes[i] = 128 + int(ws.Signal())
				}
			}
		}
		k.mu.Unlock()
	}
}

// kill kills every child of this process, and those that become its children by that, until reap finds none.
func (k *kept) kill() {
	self := strconv.Itoa(os.Getpid())
	for tick := time.NewTicker(10 * time.Millisecond); ; <-tick.C {
		stats, _ := filepath.Glob("/proc/[0-9]*/stat")
		k.mu.Lock() // nobody is reaped meanwhile, so that a pid is that of the process that was read
		for _, path := range stats {
			text, err := os.ReadFile(path)
			if err != nil {
				continue
			}
			// PID (COMMAND) STATE PARENT …: a command may hold what it likes
			fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
			if len(fields) > 1 && string(fields[1]) == self {
				if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
		}
		k.mu.Unlock()
	}
}
