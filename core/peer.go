package core

// Peer is the caller of a call, from the kernel (SO_PEERCRED) or the certificate. Weft never trusts a caller's claims.
type Peer struct {
	UID  uint32
	GID  uint32
	PID  int32
	Node string // the agent's node, from its certificate; empty on a local socket
}

// Root reports whether the caller is root on its node.
func (p Peer) Root() bool { return p.UID == 0 }
