package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

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
	dir     string // of the store
	tls     string // the certificates' folder
	address string
	sched   *batch
	change  func(*server.Needs) // may be nil
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
	s := &station{dir: b.TempDir(), tls: filepath.Join(runDir(b), "tls"), sched: sched, change: change}
	s.meter = &commits{Meter: metrics.NewServer(metrics.ServerOptions{})}
	if err := identity.Init(s.tls, loopbacks(), time.Now()); err != nil {
		b.Fatal(err)
	}
	s.open(b, "0.0.0.0:0")
	return s
}

// loopbacks are this machine's addresses: to each there can be 28,000 connections.
func loopbacks() (all []string) {
	for i := range 8 {
		all = append(all, fmt.Sprintf("127.0.0.%d", i+1))
	}
	return all
}

// open starts the server.
func (s *station) open(b testing.TB, listen string) {
	b.Helper()
	store := openBolt(b, s.dir)
	s.running = serve(b, store, s.sched, func(n *server.Needs) {
		n.Meter = s.meter
		if s.change != nil {
			s.change(n)
		}
	})
	port, err := connection.Listen(config.Server{Listen: listen, TLS: s.tls}, connection.NewBounds(slog.New(slog.DiscardHandler)))
	if err != nil {
		b.Fatal(err)
	}
	s.address = fmt.Sprintf("127.0.0.1:%d", port.Addr().(*net.TCPAddr).Port)
	s.group.Go(func() { _ = port.Serve(s.ctx, s.Server) })
	stop := s.running.stop
	s.stop = func() {
		stop()
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	}
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
