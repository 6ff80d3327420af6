package daemon

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon/connection"
	"github.com/weft-hpc/weft/identity"
	"github.com/weft-hpc/weft/metrics"
	"github.com/weft-hpc/weft/poll"
	"github.com/weft-hpc/weft/server"
)

// Benchmarks of the daemons as they are over a network: with certificates, and the bounds of the server's port. Each reports its figure beside its budget of
// docs/benchmarks.md, which is in the same unit.

// station is a server with its port for nodes, on a store that is synced.
type station struct {
	*running
	meter   *commits
	dir     string // with the certificates' folder tls
	address string
	stop    func()
}

// commits counts the store's commits, and how long they took.
type commits struct {
	server.Meter
	count atomic.Int64
	took  atomic.Int64 // ns
}

func (c *commits) Committed(inputs int, reason core.Reason, took time.Duration) {
	c.count.Add(1)
	c.took.Add(int64(took))
	c.Meter.Committed(inputs, reason, took)
}

func openStation(b testing.TB, sched *batch, change func(*server.Needs)) *station {
	b.Helper()
	dir := b.TempDir()
	store := openBolt(b, dir)
	meter := &commits{Meter: metrics.NewServer(metrics.ServerOptions{})}
	if err := identity.Init(filepath.Join(dir, "tls"), []string{"127.0.0.1"}, time.Now()); err != nil {
		b.Fatal(err)
	}
	s := &station{meter: meter, dir: dir}
	s.running = serve(b, store, sched, func(n *server.Needs) {
		n.Meter = meter
		if change != nil {
			change(n)
		}
	})
	port, err := connection.Listen(config.Server{Listen: "127.0.0.1:0", TLS: filepath.Join(dir, "tls")}, connection.NewBounds(slog.New(slog.DiscardHandler)))
	if err != nil {
		b.Fatal(err)
	}
	s.address = port.Addr().String()
	s.group.Go(func() { _ = port.Serve(s.ctx, s.Server) })
	s.stop = func() {
		s.running.stop()
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	}
	return s
}

// connect makes a node's connection as its agent does.
func connect(folder, address, node string) (*grpc.ClientConn, error) {
	certs, err := issue(folder, node)
	if err != nil {
		return nil, err
	}
	return connection.Dial(address, certs)
}

// issue makes a node's certificate and opens it.
func issue(folder, node string) (*identity.Source, error) {
	if err := identity.IssueNode(folder, node, time.Now()); err != nil {
		return nil, err
	}
	return identity.Open(folder, node)
}

// attend keeps the session of a node that does nothing but confirm whatever it is ordered to clean. greeted runs when the server has answered.
func attend(ctx context.Context, to core.Authority, name string, greeted func()) {
	next := make(chan core.Report, 4)
	number := uint64(1)
	told := func(o core.Orders) {
		greeted()
		var held []core.Held
		for _, c := range o.Clean {
			held = append(held, core.Held{Run: c.Run, State: core.HeldClean})
		}
		if held == nil {
			return
		}
		number++
		select {
		case next <- core.Report{Number: number, Boot: name, Held: held}:
		case <-ctx.Done():
		}
	}
	for ctx.Err() == nil {
		number = 1
		_ = to.Attend(ctx, name, core.Report{Number: 1, Boot: name, Full: true, Devices: []string{"cxi0", "cxi1", "cxi2", "cxi3"}}, next, told)
		poll.Pause(ctx, 100*time.Millisecond)
	}
}
