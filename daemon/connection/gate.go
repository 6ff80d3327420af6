package connection

import (
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/identity"
)

// bounded are credentials that let a node in once it has proved who it is, and only with so many connections.
type bounded struct {
	credentials.TransportCredentials
	bounds *Bounds
}

func (c bounded) Clone() credentials.TransportCredentials {
	return bounded{c.TransportCredentials.Clone(), c.bounds}
}

func (c bounded) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	p := &paced{Conn: raw, turns: c.bounds.turns}
	conn, auth, err := c.TransportCredentials.ServerHandshake(p)
	p.end()
	if err != nil {
		c.bounds.refuse(raw, err)
		return conn, auth, err
	}
	proved(raw)
	info, ok := auth.(credentials.TLSInfo)
	if !ok || len(info.State.PeerCertificates) == 0 {
		conn.Close()
		return nil, nil, core.Errorf(core.NotAllowed, "node: the connection has no certificate")
	}
	leaf := info.State.PeerCertificates[0]
	node, err := identity.Node(leaf)
	if err == nil {
		err = c.bounds.enter(node, leaf.NotAfter)
	}
	if err != nil {
		c.bounds.refuse(raw, err)
		conn.Close()
		return nil, nil, err
	}
	stop := c.bounds.until(leaf.NotAfter, node, conn)
	return &counted{Conn: conn, leave: func() { stop(); c.bounds.leave(node) }}, auth, nil
}

// counted is a connection that is counted until it is closed.
type counted struct {
	net.Conn
	once  sync.Once
	leave func()
}

func (c *counted) Close() error {
	c.once.Do(c.leave)
	return c.Conn.Close()
}

// gateMoment is how long a connection waits for room, since all nodes of a system may come at once.
const gateMoment = 250 * time.Millisecond

// gate bounds the connections that have not proved who they are; one beyond is closed after gateMoment.
type gate struct {
	net.Listener
	slots  chan struct{}
	bounds *Bounds
}

func newGate(ln net.Listener, room int, b *Bounds) *gate {
	return &gate{ln, make(chan struct{}, room), b}
}

func (g *gate) Accept() (net.Conn, error) {
	for {
		conn, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		moment := time.NewTimer(gateMoment)
		select {
		case g.slots <- struct{}{}:
			moment.Stop()
			return &counted{Conn: conn, leave: func() { <-g.slots }}, nil
		case <-moment.C:
			g.bounds.refuse(conn, core.Errorf(core.Overloaded, "server: %d connections have not proved yet who they are", cap(g.slots)))
			conn.Close()
		}
	}
}

// proved says that a connection of a gate's has proved who it is.
func proved(conn net.Conn) {
	if c, ok := conn.(*counted); ok {
		c.once.Do(c.leave)
	}
}

// until ends a connection with the certificate that opened it: a certificate that opens no new connection keeps none open. An agent whose
// certificate was renewed has a new connection long before.
func (b *Bounds) until(ends time.Time, node string, conn net.Conn) (stop func() bool) {
	return b.after(ends.Sub(b.now()), func() {
		b.log.Warn("the node's certificate has ended, and with it the connection that it opened; renew it with `weft tls node NAME` and bring the two files to the node",
			core.LogNode, node, core.LogAddress, conn.RemoteAddr().String(), core.LogLimit, ends.UTC().Format(time.RFC3339))
		conn.Close()
	})
}
