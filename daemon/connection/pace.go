package connection

import "net"

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
