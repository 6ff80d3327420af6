package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-hpc/weft/file"
)

// errDead says that a process is gone, or is not the one that was meant.
var errDead = errors.New("the process is gone")

// userHZ is how many ticks of /proc's start times make a second (USER_HZ of the kernel's user interface).
const userHZ = 100

// bootID is this boot's.
func bootID() (string, error) {
	b, err := readProc("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b)), err
}

// readProc reads a file of /proc within its bound. A process that is gone is errDead.
func readProc(path string) ([]byte, error) {
	text, err := file.Read(path, maxProc)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return nil, fmt.Errorf("%s: %w", path, errDead)
	}
	return text, err
}

// process is one that is held by a pidfd: what is known of it is of it, and not of a later one with its pid.
type process struct {
	*os.File // the pidfd
	stat
	owner
}

// hold opens a pidfd of pid and reads who it is.
func hold(pid int) (*process, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil, fmt.Errorf("pid %d: %w", pid, errDead)
	}
	if err != nil {
		return nil, fmt.Errorf("pid %d: pidfd_open: %w", pid, err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("pid %d: pidfd: %w", pid, err)
	}
	p := &process{File: os.NewFile(uintptr(fd), fmt.Sprintf("pidfd of %d", pid))}
	if err := p.look(pid); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// look reads who pid is. Since the pidfd says afterwards that its process still lives, it was that one's all the time.
func (p *process) look(pid int) error {
	text, err := readProc(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return err
	}
	if p.stat, err = parseStat(text); err != nil {
		return err
	}
	if text, err = readProc(fmt.Sprintf("/proc/%d/status", pid)); err != nil {
		return err
	}
	if p.owner, err = parseStatus(text); err != nil {
		return err
	}
	dead := false
	rc, err := p.SyscallConn()
	if err == nil {
		err = rc.Control(func(fd uintptr) { dead = over(fd) })
	}
	if err == nil && dead {
		err = fmt.Errorf("pid %d: %w", pid, errDead)
	}
	return err
}

// wait returns nil when the process is over, dead or a zombie, and an error when the pidfd was closed.
func (p *process) wait() error {
	rc, err := p.SyscallConn()
	if err != nil {
		return err
	}
	return rc.Read(over)
}

// over reports whether a pidfd says that its process ended.
func over(fd uintptr) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0
}

// began is when a process started that did so at ticks since boot, in Unix seconds by the clock as it goes now.
func began(ticks uint64) (int64, error) {
	var up unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &up); err != nil {
		return 0, fmt.Errorf("CLOCK_BOOTTIME: %w", err)
	}
	age := time.Duration(up.Nano()) - time.Duration(ticks)*(time.Second/userHZ)
	return time.Now().Add(-age).Unix(), nil
}
