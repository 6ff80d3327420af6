// Package dev is a whole Weft system in one process: a server, n agents, and simulated NICs, with the sockets of real ones. `weft dev` and `make demo` run
// it, and tests of everything above the machines do.
//
// One folder holds it all: server.sock and server.db, and for each node nodes/NAME with agent.sock, its ledger, the jobs' environments, its local jobs and
// its NICs.
package dev

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/allocator"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
	"github.com/weft-hpc/weft/hook/listener"
	"github.com/weft-hpc/weft/mailbox"
	"github.com/weft-hpc/weft/people"
	"github.com/weft-hpc/weft/plugins/local"
	"github.com/weft-hpc/weft/server"
	"github.com/weft-hpc/weft/store/bolt"
)

// Options of a System.
type Options struct {
	Dir     string // made when it is not there
	Nodes   []string
	NICs    int                   // a node
	Release *kernel.Behaviour     // whose rules the NICs follow; nil: the newest
	Address func(node int) uint32 // fabric address of the first NIC of Nodes[node]; nil: each node has the same ones
	Cores   int                   // a node; 0: the machine's
	Local   string                // label of the scheduler of type local
	PerUser int                   // jobs of one user on a node; 0: the adapter's default
	Config  engine.Config
	Pools   []allocator.Pool
	Policy  engine.Policy
	Admins  string // admin_group
	Version string
	Log     *slog.Logger
	Latency time.Duration // of a simulated NIC
	Site    agent.Site    // what `weft doctor` and `weft clean` know of the system; each node adds its driver
}

// System is running from Start to Stop. It is for one goroutine.
type System struct {
	o      Options
	nodes  map[string]*Node
	plugin *local.Plugin
	link   link
	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup // of the nodes
	claim  *os.File       // the folder is this process's

	endServer func() // nil: no server runs
}

// link connects the agents to the server, which may be down.
type link struct{ to atomic.Pointer[server.Server] }

var errDown = core.Errorf(core.ServerAway, "server: it is not running").WithRemedy("`weft status`")

func (l *link) Reserve(ctx context.Context, node string, ask core.Intent, peer core.Peer) (core.Grant, error) {
	if s := l.to.Load(); s != nil {
		return s.Reserve(ctx, node, ask, peer)
	}
	return core.Grant{}, errDown
}

func (l *link) Attend(ctx context.Context, node string, first core.Report, next <-chan core.Report, told func(core.Orders)) error {
	if s := l.to.Load(); s != nil {
		return mailbox.Authority{Authority: s}.Attend(ctx, node, first, next, told)
	}
	return errDown
}

// Start starts a system; it runs until Stop, also when ctx ends before: Stop alone ends the nodes first, so that none sees its server go.
func Start(ctx context.Context, o Options) (s *System, err error) {
	s = &System{o: o, nodes: map[string]*Node{}}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			s.Stop()
		}
	}()
	if s.claim, err = Claim(o.Dir, o.Nodes); err != nil {
		return s, err
	}
	if _, err := os.Stat(filepath.Join(o.Dir, "etcd")); err == nil {
		return s, core.Errorf(core.BadConfig, "dir %s: the system there has several servers", o.Dir).
			WithRemedy("give --servers, or another folder with --dir")
	}
	tables := make([]*local.Table, 0, len(o.Nodes))
	for i, name := range o.Nodes {
		var address uint32
		if o.Address != nil {
			address = o.Address(i)
		}
		n, err := s.newNode(name, address)
		if err != nil {
			return s, fmt.Errorf("node %s: %w", name, err)
		}
		s.nodes[name] = n
		tables = append(tables, n.table)
	}
	s.plugin = local.New(o.Local, tables...)
	if err := s.StartServer(); err != nil {
		return s, err
	}
	for _, name := range o.Nodes {
		if err := s.nodes[name].start(s); err != nil {
			return s, fmt.Errorf("node %s: %w", name, err)
		}
	}
	return s, nil
}

// StartServer starts the server, on the store that it left.
func (s *System) StartServer() error {
	if s.endServer != nil {
		return nil
	}
	store, err := bolt.Open(filepath.Join(s.o.Dir, "server.db"), bolt.Options{Witness: filepath.Join(s.o.Dir, "server.head")})
	if err != nil {
		return err
	}
	srv, err := server.New(s.ctx, server.Needs{
		Store: store, Witness: store.Seen(), Config: s.o.Config, Policy: s.o.Policy, Log: s.o.Log,
		Allocator:  func(engine.Config) (engine.Allocator, error) { return allocator.New(s.o.Pools) },
		Sizes:      s.sizes,
		Schedulers: map[string]core.SchedulerClient{s.o.Local: core.Dispatcher{Of: s.plugin}}, Own: []string{s.o.Local},
	})
	if err != nil {
		return errors.Join(err, store.Close())
	}
	ln, err := listener.Listen(filepath.Join(s.o.Dir, "server.sock"), 0o666)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.ctx))
	done := make(chan struct{})
	verbs := &server.Verbs{
		Server: srv, AdminGroup: s.o.Admins, Member: people.New(nil).Member, Version: s.o.Version, Sizes: s.sizes,
	}
	socket := &listener.Server{Bounds: listener.Users(), Log: s.o.Log}
	var both sync.WaitGroup
	both.Go(func() { _ = srv.Run(ctx) })
	both.Go(func() {
		if err := socket.Serve(ctx, ln, verbs.Handle); err != nil {
			s.o.Log.Warn("the server's socket", core.LogError, err)
		}
	})
	go func() {
		both.Wait()
		s.link.to.CompareAndSwap(srv, nil)
		if err := store.Close(); err != nil {
			s.o.Log.Warn("the server's store", core.LogError, err)
		}
		close(done)
	}()
	s.endServer = func() {
		cancel()
		<-done
	}
	s.link.to.Store(srv)
	return nil
}

// StopServer stops the server; the agents go on, and come back to the next one.
func (s *System) StopServer() {
	if s.endServer == nil {
		return
	}
	s.link.to.Store(nil)
	s.endServer()
	s.endServer = nil
}

// Stop ends everything that Start began. Services on the simulated NICs stay, as they would on real ones.
func (s *System) Stop() {
	s.cancel()
	s.group.Wait()
	s.StopServer()
	for _, n := range s.nodes {
		n.close(s.o.Log)
	}
	if s.claim != nil {
		s.claim.Close()
	}
}

func (s *System) sizes() map[string]int { return allocator.Sizes(s.o.Pools) }

// Folder is where a node of the system at dir keeps its things.
func Folder(dir, node string) string { return filepath.Join(dir, "nodes", node) }

// NICs is the folder of that node's simulated NICs.
func NICs(dir, node string) string { return filepath.Join(Folder(dir, node), "nics") }
