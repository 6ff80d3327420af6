package connection

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// paced is the connection of a handshake. As many handshakes compute at a time as there are processors. Else, when all
// nodes of a system come at once, the renewal of the server's lease waits behind each of them. A handshake that waits
// for its node has no turn.
type paced struct {
	net.Conn
	turns chan struct{}
	has   bool // a turn
	over  bool
}

func (p *paced) Read(b []byte) (int, error) {
	if p.over {
		return p.Conn.Read(b)
	}
	p.leave()
	n, err := p.Conn.Read(b)
	p.turns <- struct{}{}
	p.has = true
	if err == nil && left(p.Conn) {
		err = errLeft
	}
	return n, err
}

func (p *paced) leave() {
	if p.has {
		<-p.turns
	}
	p.has = false
}

// end is called once, after the handshake and before anything else is read.
func (p *paced) end() {
	p.leave()
	p.over = true
}

var errLeft = errors.New("the node has closed the connection")

// left tells whether the other side has closed a connection while it waited for its turn. The rest of its handshake
// would take the time of those that still wait.
func left(conn net.Conn) (closed bool) {
	if c, ok := conn.(*counted); ok {
		conn = c.Conn
	}
	c, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		closed = err == nil && info.State != unix.BPF_TCP_ESTABLISHED
	})
	return closed
}
