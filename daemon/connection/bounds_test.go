package connection

import (
	"context"
	"io"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/identity"
	"github.com/weft-hpc/weft/rpc"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBounds(slog.New(slog.DiscardHandler))
		for i := range maxBurst {
			if wait := b.spend("n1"); wait != 0 {
				t.Fatalf("message %d of a burst of %d waits %s", i, maxBurst, wait)
			}
		}
		if wait := b.spend("n1"); wait != time.Second/maxRate {
			t.Errorf("the message after the burst waits %s", wait)
		}
		if wait := b.spend("n2"); wait != 0 {
			t.Errorf("another node waits %s for it", wait)
		}
		time.Sleep(time.Second)
		for i := range maxRate - 1 {
			if wait := b.spend("n1"); wait != 0 {
				t.Fatalf("message %d of the next second waits %s", i, wait)
			}
		}
		if wait := b.spend("n1"); wait == 0 {
			t.Error("the next second has more messages than it may")
		}
	})
}

func TestGate(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	g := newGate(ln, 1, NewBounds(slog.New(slog.DiscardHandler)))
	dial := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	dial()
	first, err := g.Accept()
	if err != nil {
		t.Fatal(err)
	}
	second := dial()
	accepted := make(chan net.Conn)
	go func() {
		c, _ := g.Accept()
		accepted <- c
	}()
	if _, err := second.Read(make([]byte, 1)); err != io.EOF {
		t.Fatalf("a stranger beyond the bound reads %v", err)
	}
	first.Close()
	dial()
	third := <-accepted
	proved(third)
	dial()
	fourth, err := g.Accept()
	if err != nil {
		t.Fatal(err)
	}
	third.Close()
	if len(g.slots) != 1 {
		t.Errorf("%d slots are taken, and one stranger is there", len(g.slots))
	}
	fourth.Close()
	if len(g.slots) != 0 {
		t.Errorf("%d slots are taken, and nobody is there", len(g.slots))
	}
}

// quiet is an Authority that refuses everything.
type quiet struct{ core.Authority }

func (quiet) Reserve(_ context.Context, node string, _ core.Intent, _ core.Peer) (core.Grant, error) {
	return core.Grant{}, core.Errorf(core.NotPlaced, "node %s", node)
}

func TestConnectionsOfANode(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	if err := identity.Init(dir, []string{"127.0.0.1"}, now); err != nil {
		t.Fatal(err)
	}
	source := func(name string) *identity.Source {
		t.Helper()
		s, err := identity.Open(dir, name)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	bounds := NewBounds(slog.New(slog.DiscardHandler))
	g := grpc.NewServer(append(rpc.AuthorityOptions(), nodeOptions(credentials.NewTLS(source("server").Server()), bounds)...)...)
	rpc.ServeAuthority(g, quiet{}, caller)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error)
	go func() { served <- g.Serve(newGate(ln, 8, bounds)) }()
	defer func() { g.Stop(); <-served }()
	var conns []*grpc.ClientConn
	ask := func(node string) core.Reason {
		t.Helper()
		conn, err := Dial(ln.Addr().String(), source(node))
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err = rpc.NewAuthority(conn).Reserve(ctx, "", core.Intent{Action: core.Prepare, Key: core.Key{JobID: core.JobID{Scheduler: "local", Job: "n1.1"}}, UID: 1}, core.Peer{UID: 1})
		reason := core.AsError(err).Reason
		if reason == core.ServerAway { // else it comes again, and takes the room of the next
			conn.Close()
		}
		return reason
	}
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	for _, node := range []string{"n1", "n2"} {
		if err := identity.IssueNode(dir, node, now); err != nil {
			t.Fatal(err)
		}
	}
	for i := range maxConnections {
		if got := ask("n1"); got != core.NotPlaced {
			t.Fatalf("connection %d: %s", i+1, got)
		}
	}
	if got := ask("n1"); got != core.ServerAway {
		t.Errorf("one connection more than a node may have: %s", got)
	}
	if got := ask("n2"); got != core.NotPlaced {
		t.Errorf("another node's first connection: %s", got)
	}
	for range 4 * maxBurst {
		bounds.spend("n2")
	}
	if got := ask("n2"); got != core.Overloaded {
		t.Errorf("a call of a node that has spent more than its rate: %s", got)
	}
	conns[0].Close()
	deadline := time.Now().Add(10 * time.Second)
	for ask("n1") != core.NotPlaced {
		if time.Now().After(deadline) {
			t.Fatal("a connection's end leaves no room for another")
		}
	}
}
