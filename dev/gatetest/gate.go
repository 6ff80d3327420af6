// Package gatetest is a TCP proxy that stands for a bad network between two processes of a test.
//
// A proxy of TCP cannot double or reorder bytes: TLS would end the connection, as after a cut. Tests double and
// reorder whole calls instead.
package gatetest

import (
	"net"
	"slices"
	"sync"
	"testing"
	"time"
)

// Weather is the harm that the proxy does to all of its connections. The zero value carries all bytes at once.
type Weather struct {
	Up, Down bool          // bytes to the target, and from it, wait; neither side learns of it
	Delay    time.Duration // of each read's bytes
	Piece    int           // bytes of a write; 0: all that were read
	Cut      int           // a connection ends after so many bytes each way; 0: never
}

// Gate is one proxy.
type Gate struct {
	ln   net.Listener
	to   string
	all  sync.WaitGroup
	news *sync.Cond

	mu    sync.Mutex
	now   Weather
	over  bool
	ended chan struct{} // closed when over
	conns map[net.Conn]bool
	shuts int
}

// New is an open one in front of an address. It ends with the test.
func New(t testing.TB, listen, to string) *Gate {
	t.Helper()
	ln, err := net.Listen("tcp", listen)
	if err != nil {
		t.Fatal(err)
	}
	g := &Gate{ln: ln, to: to, conns: map[net.Conn]bool{}, ended: make(chan struct{})}
	g.news = sync.NewCond(&g.mu)
	g.all.Go(g.accept)
	t.Cleanup(g.close)
	return g
}

// Port is the port where it listens.
func (g *Gate) Port() int { return g.ln.Addr().(*net.TCPAddr).Port }

// Shuts counts how often it was shut.
func (g *Gate) Shuts() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shuts
}

// Shut has it take connections and bytes and bring none of them over, as a switch that drops packets.
func (g *Gate) Shut() { g.Set(Weather{Up: true, Down: true}) }

// Open ends a bad weather. With cut, the connections of a shut gate end with all that was under way.
func (g *Gate) Open(cut bool) {
	g.mu.Lock()
	if cut && g.now.Up && g.now.Down {
		g.end()
	}
	g.mu.Unlock()
	g.Set(Weather{})
}

// Set changes the weather.
func (g *Gate) Set(w Weather) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.Up && w.Down && !(g.now.Up && g.now.Down) {
		g.shuts++
	}
	g.now = w
	g.news.Broadcast()
}

func (g *Gate) accept() {
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
			if _, ok := g.pass(true); !ok {
				return
			}
			out, err := net.Dial("tcp", g.to)
			if err != nil || !g.keep(out) {
				return
			}
			g.all.Go(func() {
				g.copy(in, out, false)
				g.drop(in)
			})
			g.copy(out, in, true)
			g.drop(out)
		})
	}
}

// keep notes a connection, unless all is over.
func (g *Gate) keep(c net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over {
		_ = c.Close()
		return false
	}
	g.conns[c] = true
	return true
}

func (g *Gate) drop(c net.Conn) {
	g.mu.Lock()
	delete(g.conns, c)
	g.mu.Unlock()
	_ = c.Close()
}

// pass waits until bytes pass in a direction, and gives the weather then; false when none ever will again.
func (g *Gate) pass(up bool) (Weather, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for (up && g.now.Up || !up && g.now.Down) && !g.over {
		g.news.Wait()
	}
	return g.now, !g.over
}

func (g *Gate) copy(to, from net.Conn, up bool) {
	buffer := make([]byte, 32<<10)
	for carried := 0; ; {
		n, err := from.Read(buffer)
		w, ok := g.pass(up)
		if ok && w.Delay > 0 {
			select {
			case <-time.After(w.Delay):
			case <-g.ended:
			}
			w, ok = g.pass(up)
		}
		if !ok {
			return
		}
		read := buffer[:n]
		if w.Cut > 0 {
			read = read[:max(0, min(n, w.Cut-carried))]
		}
		if w.Piece == 0 {
			w.Piece = len(buffer)
		}
		for piece := range slices.Chunk(read, w.Piece) {
			if _, err := to.Write(piece); err != nil {
				return
			}
		}
		if carried += n; err != nil || len(read) < n {
			return
		}
	}
}

// end ends all connections.
func (g *Gate) end() {
	for c := range g.conns {
		_ = c.Close()
	}
}

func (g *Gate) close() {
	g.mu.Lock()
	g.over = true
	close(g.ended)
	g.end()
	g.news.Broadcast()
	g.mu.Unlock()
	_ = g.ln.Close()
	g.all.Wait()
}
