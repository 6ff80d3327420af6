package hook

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/weft-hpc/weft/core"
)

// PeerOf asks the kernel who is at the other end of a unix socket (SO_PEERCRED): of an accepted connection who connected, of a dialled one who listens.
func PeerOf(conn syscall.Conn) (core.Peer, error) {
	rc, err := conn.SyscallConn()
	if err != nil {
		return core.Peer{}, err
	}
	var cred *syscall.Ucred
	var failed error
	if err := rc.Control(func(fd uintptr) {
		cred, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil {
		return core.Peer{}, err
	}
	if failed != nil {
		return core.Peer{}, fmt.Errorf("SO_PEERCRED: %w", failed)
	}
	if cred.Pid <= 0 || cred.Uid == core.NoUID {
		return core.Peer{}, errors.New("the kernel does not say who is at the other end")
	}
	return core.Peer{UID: cred.Uid, GID: cred.Gid, PID: cred.Pid}, nil
}
