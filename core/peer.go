package core

// Peer is who calls, as the kernel says (SO_PEERCRED) or as the certificate does; never as the caller says.
type Peer struct {
	UID  uint32
	GID  uint32
	PID  int32
	Node string // the agent's node, from its certificate; empty on a local socket
}

// Root reports whether the caller is root on its node.
func (p Peer) Root() bool { return p.UID == 0 }
