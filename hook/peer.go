package hook

import (
	"fmt"
	"net"
	"syscall"

	"github.com/weft-hpc/weft/core"
)

// peerOf asks the kernel who is at the other end of a unix socket: for an accepted connection who connected, for a dialled one who listens.
func peerOf(conn net.Conn) (core.Peer, error) {
	raw, ok := conn.(syscall.Conn)
	if !ok {
		return core.Peer{}, fmt.Errorf("%T is no socket", conn)
	}
	rc, err := raw.SyscallConn()
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
		return core.Peer{}, fmt.Errorf("the kernel does not say who is at the other end")
	}
	return core.Peer{UID: cred.Uid, GID: cred.Gid, PID: cred.Pid}, nil
}
