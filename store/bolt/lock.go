package bolt

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
)

// lockWait is how long a process that is just ending is waited for; lockPoll how often it is looked at.
const (
	lockWait = 2 * time.Second
	lockPoll = 10 * time.Millisecond
)

// hold holds path.lock for this process. The lock is on a file of its own, since the store's is replaced when it is compacted. It ends with the process,
// however that ends; the file stays.
func (l layout) hold(path string) (*os.File, error) {
	f, err := file.Open(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, l.failed(path+".lock", err)
	}
	for end := time.Now().Add(lockWait); ; time.Sleep(lockPoll) {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) || time.Now().After(end) {
			break
		}
	}
	if err == nil {
		name := filepath.Base(os.Args[0])
		if err = f.Truncate(0); err == nil {
			_, err = f.WriteAt(fmt.Appendf(nil, "%d %s\n", os.Getpid(), name), 0)
		}
	}
	if err != nil {
		who := holder(f)
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, core.Errorf(core.StoreLocked, "%s: %s: %s has it open", l.kind, path, who).
				WithRemedy("stop that process first; two must never share one " + l.kind)
		}
		return nil, l.failed(path, err)
	}
	return f, nil
}

// holder reads who has the lock.
func holder(f *os.File) string {
	b := make([]byte, 256)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "another process"
	}
	pid, name, _ := strings.Cut(strings.TrimSpace(string(b[:n])), " ")
	if _, err := strconv.ParseUint(pid, 10, 31); err != nil {
		return "another process"
	}
	if core.CheckName("process", name, 64) != nil {
		return "process " + pid
	}
	return fmt.Sprintf("process %s (%s)", pid, name)
}

// unlock lets the lock go. The name goes first, so that nobody is blamed afterwards.
func unlock(f *os.File) error {
	return errors.Join(f.Truncate(0), f.Close())
}
