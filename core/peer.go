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

// Right is why p may ask about a job of owner: "root" or "owner"; empty if it may not.
func (p Peer) Right(owner uint32) string {
	switch p.UID {
	case 0:
		return "root"
	case owner:
		return "owner"
	}
	return ""
}

// Audited is how the audit names the caller of a call, with the right by which it was let in; empty if it was refused.
func (p Peer) Audited(call, right string) []any {
	attrs := []any{LogUID, p.UID, LogPID, p.PID, LogCall, call}
	if right != "" {
		attrs = append(attrs, LogAs, right)
	}
	return attrs
}
