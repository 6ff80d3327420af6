package agent

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/weft-hpc/weft/core/node"
)

// maxHeld bounds the pidfds that the agent holds at a time. Further keepers are only looked at.
const maxHeld = 1024

// hold has the machine told at once when a process ends that may keep a step. It costs a file and a goroutine, and no
// thread.
func (a *Agent) hold(k node.Keeper) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if k == (node.Keeper{}) || a.held[k] || len(a.held) >= maxHeld || a.ctx == nil || a.ctx.Err() != nil {
		return
	}
	a.held[k] = true
	ctx := a.ctx
	a.beside.Go(func() {
		if a.needs.Ended(ctx, k) == nil {
			_ = a.insist(ctx, work{in: node.KeeperGone{Keeper: k}}) // an agent that stops looks again after its start
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.held, k)
	})
}

// awaitEnd waits until a process has ended. An error says that it cannot know.
func awaitEnd(ctx context.Context, k node.Keeper) error {
	fd, err := unix.PidfdOpen(int(k.PID), unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("process %d: pidfd_open: %w", k.PID, err)
	}
	f := os.NewFile(uintptr(fd), fmt.Sprintf("pidfd of %d", k.PID)) // Go's poller waits for it, since it does not block
	defer f.Close()
	defer context.AfterFunc(ctx, func() { _ = f.Close() })()
	// While this process has its pid, the pidfd is of no other.
	if p, err := readProcess(k.PID); err != nil || p.Keeper != k {
		return nil
	}
	rc, err := f.SyscallConn()
	if err != nil {
		return err
	}
	return rc.Read(func(fd uintptr) bool {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 0)
		return err == nil && n > 0
	})
}
