package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/history"
	"github.com/weft-hpc/weft/hook/listener"
	"github.com/weft-hpc/weft/host"
	"github.com/weft-hpc/weft/identity"
	"github.com/weft-hpc/weft/metrics"
	"github.com/weft-hpc/weft/plugins/local"
	"github.com/weft-hpc/weft/rpc"
	"github.com/weft-hpc/weft/server"
	"github.com/weft-hpc/weft/store/bolt"
	"github.com/weft-hpc/weft/store/memory"
)

// Options of a daemon.
type Options struct {
	Version string
	Log     *slog.Logger
	Ready   func()           // called once it serves
	Reload  <-chan os.Signal // asks for a reload, as SIGHUP does; nil: nobody does
	Watch   Watchdog
	Member  func(ctx context.Context, peer core.Peer, group string) bool // whether who calls belongs to a group; nil: what this host's files say is all
}

// Server runs the server of a site until ctx ends. Everything that can fail at the start fails before Ready.
func Server(ctx context.Context, site *Site, o Options) (err error) {
	if failed := Try(site.Policy, Env(site.Config), site.Tests); hclfile.Failed(failed) {
		return findingsError(failed) // as after an error in the policy itself: what a reload would not put in force, a restart must not either
	}
	c := site.Config.Server
	run, err := filepath.Abs(filepath.Dir(c.Socket))
	if err != nil {
		return core.Errorf(core.BadConfig, "server: socket: %w", err)
	}
	var undo []func() error
	defer func() {
		for i := len(undo) - 1; i >= 0; i-- {
			err = errors.Join(err, undo[i]())
		}
	}()
	store, witness, err := openStore(c.Store, filepath.Join(run, "server.head"))
	if err != nil {
		return err
	}
	undo = append(undo, store.Close)

	plugins, err := host.New(host.Options{Dir: run, Log: o.Log, Version: o.Version})
	if err != nil {
		return err
	}
	undo = append(undo, func() error { return plugins.Close(context.WithoutCancel(ctx)) })
	audit, reopen, closing, err := openAudit(c.Audit, o.Log)
	if err != nil {
		return err
	}
	undo = append(undo, closing)
	live := &reloader{of: config.OfServer, log: o.Log, audit: audit, reopen: reopen, plugins: plugins}
	live.site.Store(site)
	halves, err := schedulers(ctx, site, plugins, &live.blocks)
	if err != nil {
		return err
	}
	bounds := newNodeBounds(o.Log)
	page := metrics.NewServer(metrics.ServerOptions{
		Process: metrics.Process{Version: o.Version, Expiry: live.expiry, Plugins: pluginFigures(plugins), Runtime: true}, Schedulers: site.Engine.Schedulers,
		Sizes: live.sizes, Store: figures(store), Refused: func() bool { return live.refused() != nil },
		NodeExpiry: func() time.Time {
			first := time.Time{}
			for _, t := range bounds.shown() {
				if first.IsZero() || t.Before(first) {
					first = t
				}
			}
			return first
		},
	})
	var past server.History
	if c.History != "" {
		w, err := history.Open(c.History, 0, o.Log)
		if err != nil {
			return err
		}
		undo = append(undo, w.Close)
		past = w
	}
	srv, err := server.New(ctx, server.Needs{
		Store: store, Witness: witness, Config: site.Engine, Policy: site.Policy, Log: o.Log, Audit: audit, History: past, Schedulers: halves.here, At: halves.at, Own: halves.own, Meter: page, Allocator: site.allocator,
	})
	if err != nil {
		return err
	}
	live.accept = acceptor(srv)
	beside := &shade{srv: srv, live: live.site.Load, log: o.Log, audit: audit}
	undo = append(undo, beside.close)
	live.taken = beside.reloaded
	page.Watch(srv)
	hooks, err := newSchedulerHooks(ctx, srv, site, plugins, run, live, o.Log)
	if err != nil {
		return err
	}
	desk := &server.Verbs{
		Server: srv, AdminGroup: c.AdminGroup, Member: o.Member, Version: o.Version, Sizes: live.sizes, Expiry: live.expiry, Refused: live.refused, Shown: bounds.shown, Shadow: beside.row,
		Read: map[string]listener.Handler{verbPlugins: pluginsVerb(plugins)},
		More: map[string]listener.Handler{verbReload: live.verb, VerbShadow: beside.verb, verbRestartPlugin: restartVerb(plugins, audit)},
	}
	ln, err := listener.Listen(c.Socket, 0o666)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if c.Listen != "" {
		limitMemory(len(site.Nodes))
		if live.certs, err = serveNodes(ctx, &all, cancel, c, srv, bounds); err != nil {
			return errors.Join(err, ln.Close())
		}
		all.Go(func() {
			warnExpiry(ctx, o.Log, "the server's", live.expiry, "renew it with `weft tls init`, which needs no restart")
		})
		all.Go(func() { warnNodes(ctx, o.Log, bounds.shown) })
	}
	if err := serveMetrics(ctx, &all, cancel, c.Metrics, page); err != nil {
		return errors.Join(err, ln.Close())
	}
	if hooks != nil {
		if err := hooks.serve(ctx, &all, cancel); err != nil {
			return errors.Join(err, ln.Close())
		}
		all.Go(func() { hooks.keep(ctx, plugins) })
		live.taken = func() []string {
			changed := beside.reloaded()
			if err := hooks.tell(ctx); err != nil {
				o.Log.Error("hooks that run beside the server are not told of the reload", core.LogError, err)
			}
			return changed
		}
	}
	all.Go(func() { live.hear(ctx, o.Reload) })
	all.Go(func() { _ = srv.Run(ctx) })
	all.Go(func() {
		o.Watch.run(ctx, func(ctx context.Context) error { return srv.Look(ctx, func(*engine.Machine) {}) }, o.Log)
	})
	all.Go(func() {
		if err := (&listener.Server{Bounds: listener.Users(), Log: o.Log}).Serve(ctx, ln, desk.Handle); err != nil {
			cancel(core.Errorf(core.InternalFault, "socket %s: %w", c.Socket, err))
		}
	})
	if o.Ready != nil {
		o.Ready()
	}
	all.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// figures are the numbers of a store's file, where it has one.
func figures(store engine.Store) func() (bytes, free int64, err error) {
	b, ok := store.(*bolt.Store)
	if !ok {
		return nil
	}
	return func() (int64, int64, error) {
		st, err := b.Stats()
		return st.Bytes, st.Free, err
	}
}

// openStore opens the store that config.hcl names.
func openStore(path, witness string) (engine.Store, core.Head, error) {
	if path == config.MemoryStore {
		return memory.New(), core.Head{}, nil
	}
	s, err := bolt.Open(path, bolt.Options{Witness: witness})
	if err != nil {
		return nil, core.Head{}, err
	}
	return s, s.Seen(), nil
}

// halves are the schedulers' halves as the server reaches them.
type halves struct {
	here map[string]core.Scheduler
	at   map[string]string // nodes where others run
	own  []string          // those in here of whose jobs each node tells its own
}

// schedulers starts the halves of the schedulers that run on the server. One that does not start is started again by itself; what it cannot tell meanwhile
// frees nothing and grants nothing.
func schedulers(ctx context.Context, site *Site, plugins *host.Host, in *blocks) (halves, error) {
	out := halves{here: map[string]core.Scheduler{}, at: map[string]string{}}
	for _, p := range site.Config.Schedulers {
		if p.Type == "local" {
			out.here[p.Name] = local.New(p.Name) // goes by the notes that agents make; what it watches, they forward
			out.own = append(out.own, p.Name)
			continue
		}
		if p.At != "" {
			out.at[p.Name] = p.At
			continue
		}
		s, findings := in.spec(host.Scheduler, p, host.Self)
		if len(findings) > 0 {
			return halves{}, findingsError(findings)
		}
		started, err := plugins.Start(ctx, s)
		if started == nil {
			return halves{}, err
		}
		half, err := plugins.Scheduler(p.Name)
		if err != nil {
			return halves{}, err
		}
		out.here[p.Name] = aliasesOf(p).scheduler(half)
	}
	return out, nil
}

// serveNodes listens for agents. Who they are is what their certificates say.
func serveNodes(ctx context.Context, all *sync.WaitGroup, cancel context.CancelCauseFunc, c config.Server, srv *server.Server, bounds *nodeBounds) (*identity.Source, error) {
	certs, err := identity.Open(identity.Files{CA: filepath.Join(c.TLS, identity.CAFile), Cert: filepath.Join(c.TLS, "server.crt"), Key: filepath.Join(c.TLS, "server.key")})
	if err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, core.Errorf(core.BadConfig, "server: listen %s: %w", c.Listen, err)
	}
	g := grpc.NewServer(append(rpc.AuthorityOptions(), nodeOptions(credentials.NewTLS(certs.Server()), bounds)...)...)
	rpc.ServeAuthority(g, srv, caller)
	all.Go(func() {
		if err := g.Serve(newGate(ln, maxStrangers, bounds)); err != nil && ctx.Err() == nil {
			cancel(core.Errorf(core.InternalFault, "server: listen %s: %w", c.Listen, err))
		}
	})
	all.Go(func() {
		<-ctx.Done()
		g.Stop()
	})
	return certs, nil
}

// caller is the node whose certificate the connection has.
func caller(ctx context.Context) (string, error) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return "", core.Errorf(core.NotAllowed, "node: the connection has no peer")
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.VerifiedChains) == 0 {
		return "", core.Errorf(core.NotAllowed, "node: the connection has no verified certificate")
	}
	return identity.Node(info.State.VerifiedChains[0][0])
}
