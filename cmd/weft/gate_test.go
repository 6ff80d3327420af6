package main

import (
	"fmt"
	"net"
	"sync"
	"testing"
)

// gate is the network between an agent and the server. Shut, it takes connections and bytes and brings none of them over, as a switch that drops packets:
// neither side learns of it.
type gate struct {
	ln   net.Listener
	to   string
	all  sync.WaitGroup
	news *sync.Cond

	mu    sync.Mutex
	shut  bool
	over  bool
	conns map[net.Conn]bool
	cuts  int
}

// newGate is one before a port of this machine, open.
func newGate(t *testing.T, port int) *gate {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{ln: ln, to: fmt.Sprintf("127.0.0.1:%d", port), conns: map[net.Conn]bool{}}
	g.news = sync.NewCond(&g.mu)
	g.all.Go(g.accept)
	t.Cleanup(g.close)
	return g
}

func (g *gate) port() int { return g.ln.Addr().(*net.TCPAddr).Port }

func (g *gate) accept() {
	for {
		in, err := g.ln.Accept()
		if err != nil {
			return
		}
		if !g.keep(in) {
			continue
		}
		g.all.Go(func() {
			defer g.drop(in)
			if !g.pass() {
				return
			}
			out, err := net.Dial("tcp", g.to)
			if err != nil || !g.keep(out) {
				return
			}
			g.all.Go(func() {
				g.copy(in, out)
				g.drop(in)
			})
			g.copy(out, in)
			g.drop(out)
		})
	}
}

// keep notes a connection, unless all is over.
func (g *gate) keep(c net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over {
		_ = c.Close()
		return false
	}
	g.conns[c] = true
	return true
}

func (g *gate) drop(c net.Conn) {
	g.mu.Lock()
	delete(g.conns, c)
	g.mu.Unlock()
	_ = c.Close()
}

// pass waits until the gate is open; false when it never will be again.
func (g *gate) pass() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.shut && !g.over {
		g.news.Wait()
	}
	return !g.over
}

func (g *gate) copy(to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if !g.pass() {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// set shuts or opens the gate. Opened after a cut, whatever was under way is lost, and both sides learn that their connection is.
func (g *gate) set(shut, cut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if shut && !g.shut {
		g.cuts++
	}
	if cut && g.shut && !shut {
		for c := range g.conns {
			_ = c.Close()
		}
	}
	g.shut = shut
	g.news.Broadcast()
}

func (g *gate) close() {
	g.mu.Lock()
	g.over = true
	for c := range g.conns {
		_ = c.Close()
	}
	g.news.Broadcast()
	g.mu.Unlock()
	_ = g.ln.Close()
	g.all.Wait()
}
