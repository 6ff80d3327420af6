package hook

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/weft-hpc/weft/core"
)

// MaxPath is how long a socket's path may be, in bytes: sun_path of <sys/un.h> has 108, one of them for the end.
const MaxPath = 107

// dial connects to the socket at path, if it is one that the caller can trust.
func dial(ctx context.Context, path string) (*os.File, error) {
	if err := checkSocket(path, os.Geteuid()); err != nil {
		return nil, err
	}
	for wait := firstWait; ; wait = min(2*wait, longest) {
		if ctx.Err() != nil {
			return nil, late(ctx, path)
		}
		conn, err := connect(path)
		switch {
		case err == nil:
			if err := checkListener(path, conn, os.Geteuid()); err != nil {
				conn.Close()
				return nil, err
			}
			return conn, nil
		case ctx.Err() != nil:
			return nil, late(ctx, path)
		case errors.Is(err, syscall.EAGAIN): // the queue of those who wait to be accepted is full
			if !pause(ctx, wait) {
				return nil, core.Errorf(core.Overloaded, "%s: it is busy and accepts no connection: %w", path, err)
			}
		case errors.Is(err, fs.ErrNotExist):
			return nil, absent(path)
		case errors.Is(err, syscall.ECONNREFUSED):
			return nil, core.Errorf(core.ServerAway, "%s: nobody listens there any more", path).WithRemedy(starter(path))
		case errors.Is(err, fs.ErrPermission):
			return nil, core.Errorf(core.NotAllowed, "%s: uid %d may not connect to it: %w", path, os.Geteuid(), err).WithRemedy("run it as root, or use the socket that is for users")
		default:
			return nil, core.Errorf(core.ServerAway, "%s: %w", path, err).WithRemedy(starter(path))
		}
	}
}

// connect opens a connection to the socket at path and waits for nobody: it is syscall.EAGAIN while the queue there is full. It is not net's, since what
// that package does at a program's start and what it links are a good part of the time that weft-hook takes.
func connect(path string) (*os.File, error) {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	to := &syscall.SockaddrUnix{Name: path}
	err = syscall.Connect(fd, to)
	for errors.Is(err, syscall.EINTR) {
		err = syscall.Connect(fd, to)
	}
	if err != nil && !errors.Is(err, syscall.EISCONN) { // an interrupted try may have got through
		_ = syscall.Close(fd)
		return nil, os.NewSyscallError("connect", err)
	}
	conn := os.NewFile(uintptr(fd), path)
	// A connection that knows no deadline could hold its caller for ever.
	if err := conn.SetDeadline(time.Time{}); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// checkSocket refuses a path at which somebody else than root or uid could answer.
func checkSocket(path string, uid int) error {
	if err := CheckPath(path); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return absent(path)
	case errors.Is(err, fs.ErrPermission):
		return core.Errorf(core.NotAllowed, "%s: uid %d may not look there: %w", path, uid, err).WithRemedy("run it as root, or let users pass through the folders that it lies in")
	case err != nil:
		return core.Errorf(core.ServerAway, "%s: %w", path, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return core.Errorf(core.NotAllowed, "%s: it is a symbolic link, which anybody could have made", path).WithRemedy("give the path of the socket itself")
	case info.Mode()&fs.ModeSocket == 0:
		return core.Errorf(core.NotAllowed, "%s: it is no socket", path).WithRemedy("give the path of the daemon's socket")
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Uid != 0 && int(st.Uid) != uid {
		return core.Errorf(core.NotAllowed, "%s: it belongs neither to root nor to uid %d", path, uid).WithRemedy("see who made it; a daemon of Weft runs as root, `weft dev` as its user")
	}
	return nil
}

// imposter is what to do about somebody else who listens.
const imposter = "see which process listens there; a daemon of Weft runs as root, `weft dev` as its user"

// checkListener asks the kernel who listens, since a path can change between a look and a connection.
func checkListener(path string, conn *os.File, uid int) error {
	peer, err := PeerOf(conn)
	if err != nil {
		return core.Errorf(core.NotAllowed, "%s: who listens there: %w", path, err).WithRemedy(imposter)
	}
	if !peer.Root() && int(peer.UID) != uid {
		return core.Errorf(core.NotAllowed, "%s: uid %d listens there, which is neither root nor uid %d", path, peer.UID, uid).WithRemedy(imposter)
	}
	return nil
}

// CheckPath refuses, as core.BadCall, a path at which no socket can be: an empty one, an abstract name, one that is longer than MaxPath.
func CheckPath(path string) error {
	switch {
	case path == "" || strings.ContainsRune(path, 0) || path[0] == '@':
		return core.Errorf(core.BadCall, "socket %q: it is no path of a file", core.Clip(path))
	case len(path) > MaxPath:
		return core.Errorf(core.BadCall, "socket %s: its path has %d bytes and the kernel takes %d", core.Clip(path), len(path), MaxPath).
			WithRemedy("use a folder with a shorter name, or a path from the current folder")
	}
	return nil
}

func absent(path string) error {
	return core.Errorf(core.ServerAway, "%s: there is no socket", path).WithRemedy(starter(path))
}

// starter says what to start so that somebody listens at path.
func starter(path string) string {
	switch name := filepath.Base(path); {
	case strings.HasPrefix(name, "server"):
		return "start `weft server` there, or `weft dev` for a simulated system"
	case strings.HasPrefix(name, "agent"), strings.HasPrefix(name, "user"), strings.HasPrefix(name, "root"):
		return "start `weft agent` on this node, or `weft dev` for a simulated system"
	}
	return "start the daemon that listens there: `weft server`, `weft agent`, or `weft dev` for a simulated system"
}
