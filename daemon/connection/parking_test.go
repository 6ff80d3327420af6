package connection

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/identity"
	"github.com/weft-hpc/weft/rpc"
)

// waiting is one of several servers, which never sees another leader.
type waiting struct {
	core.Authority
	begun chan string
}

func (w waiting) Await(ctx context.Context, node string, _ core.Head) (core.Head, error) {
	w.begun <- node
	<-ctx.Done()
	return core.Head{}, context.Cause(ctx)
}

// A node that has two calls waiting for another leader gets no third one until one of them has ended.
func TestParkedCalls(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(identity.Init(dir, []string{"127.0.0.1"}, now))
	certs, err := identity.Open(dir, "server")
	must(err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error)
	to := waiting{quiet{}, make(chan string, 8)}
	p := &Port{ln, certs, NewBounds(slog.New(slog.DiscardHandler))}
	go func() { served <- p.Serve(ctx, to) }()
	defer func() { stop(); must(<-served) }()
	await := func(node string) (end func(), over chan error) {
		must(identity.IssueNode(dir, node, now))
		certs, err := identity.Open(dir, node)
		must(err)
		conn, err := Dial(ln.Addr().String(), certs)
		must(err)
		ctx, end := context.WithCancel(t.Context())
		over = make(chan error, 1)
		go func() {
			defer conn.Close()
			_, err := rpc.NewAuthority(conn).(core.Succession).Await(ctx, "", core.Head{})
			over <- err
		}()
		return end, over
	}
	end, over := await("n1")
	<-to.begun
	second, secondOver := await("n1")
	<-to.begun
	third, refused := await("n1")
	defer third()
	select {
	case err := <-refused:
		if core.ReasonOf(err) != core.Overloaded {
			t.Errorf("a third call: %v", err)
		}
	case <-to.begun:
		t.Error("a third call of the node waits")
	}
	other, otherOver := await("n2")
	<-to.begun
	end()
	<-over
	for again := true; again; { // the server sees that end a moment later
		end, over = await("n1")
		select {
		case <-over:
			end()
		case <-to.begun:
			again = false
		}
	}
	for _, f := range []func(){end, second, other} {
		f()
	}
	for _, o := range []chan error{over, secondOver, otherOver} {
		<-o
	}
}
