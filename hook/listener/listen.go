package listener

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
)

// Listen makes the socket at path, which appears with its mode and not before. A socket that a dead daemon left is replaced; one at which somebody
// answers, and anything else than a socket, is left alone and refused. Beside it a folder of the daemon's own, .NAME.new, holds the socket while it is
// made, and is locked as long as the daemon listens, so that of two daemons started at once only one does. Close removes the socket.
func Listen(path string, mode fs.FileMode) (net.Listener, error) {
	if err := hook.CheckPath(path); err != nil {
		return nil, err
	}
	dir, err := workshop(path)
	if err != nil {
		return nil, err
	}
	ln, err := place(path, dir, mode)
	if err != nil {
		dir.Close()
		return nil, err
	}
	return ln, nil
}

// workshop opens and locks the folder in which path's socket is made.
func workshop(path string) (*os.File, error) {
	name := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
	if err := os.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, core.Errorf(core.BadConfig, "socket %s: its folder: %w", path, err).WithRemedy("make the folder, or give the socket another path")
	}
	dir, err := os.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, core.Errorf(core.BadConfig, "socket %s: %w", path, err)
	}
	info, err := dir.Stat()
	if err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
			err = fmt.Errorf("%s belongs to another user", name)
		} else {
			err = dir.Chmod(0o700)
		}
	}
	if err != nil {
		dir.Close()
		return nil, core.Errorf(core.BadConfig, "socket %s: %w", path, err)
	}
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		dir.Close()
		return nil, taken(path)
	}
	return dir, nil
}

// place makes the socket in dir, where nobody else can reach it, and puts it at path.
func place(path string, dir *os.File, mode fs.FileMode) (*listener, error) {
	if err := vacant(path); err != nil {
		return nil, err
	}
	// Through the descriptor the path is short, however long the folder's is.
	made := fmt.Sprintf("/proc/self/fd/%d/s", dir.Fd())
	if err := os.Remove(made); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, core.Errorf(core.BadConfig, "socket %s: %w", path, err)
	}
	inner, err := net.ListenUnix("unix", &net.UnixAddr{Name: made, Net: "unix"})
	if err != nil {
		return nil, core.Errorf(core.BadConfig, "socket %s: %w", path, err)
	}
	inner.SetUnlinkOnClose(false)
	err = os.Chmod(made, mode)
	var info fs.FileInfo
	if err == nil {
		info, err = os.Lstat(made)
	}
	if err == nil {
		err = os.Rename(made, path)
	}
	if err != nil {
		inner.Close()
		return nil, core.Errorf(core.BadConfig, "socket %s: %w", path, err)
	}
	return &listener{UnixListener: inner, path: path, made: info, lock: dir}, nil
}

// vacant refuses a path that is taken by anything but a socket at which nobody answers.
func vacant(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return core.Errorf(core.BadConfig, "socket %s: %w", path, err)
	}
	if info.Mode()&fs.ModeSocket == 0 {
		return core.Errorf(core.BadConfig, "socket %s: something else is there, which is no socket", path).WithRemedy("move it away, or give the socket another path")
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		conn.Close()
		return taken(path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return taken(path)
	}
	return nil
}

func taken(path string) error {
	return core.Errorf(core.BadConfig, "socket %s: another daemon listens there", path).WithRemedy("stop that one, or give this one another path")
}

// listener removes its socket when it closes, if it is still its own.
type listener struct {
	*net.UnixListener
	path string
	made fs.FileInfo
	lock *os.File
	once sync.Once
}

func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

func (l *listener) Close() error {
	err := l.UnixListener.Close()
	l.once.Do(func() {
		if now, e := os.Lstat(l.path); e == nil && os.SameFile(now, l.made) {
			err = errors.Join(err, os.Remove(l.path))
		}
		err = errors.Join(err, l.lock.Close())
	})
	return err
}
