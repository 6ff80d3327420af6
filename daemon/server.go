package daemon

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/allocator"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/daemon/adapters"
	"github.com/weft-hpc/weft/daemon/connection"
	"github.com/weft-hpc/weft/daemon/election"
	"github.com/weft-hpc/weft/daemon/plugin"
	"github.com/weft-hpc/weft/daemon/reload"
	"github.com/weft-hpc/weft/daemon/settings"
	"github.com/weft-hpc/weft/daemon/shadow"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/history"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
	"github.com/weft-hpc/weft/host"
	"github.com/weft-hpc/weft/metrics"
	"github.com/weft-hpc/weft/plugins/local"
	"github.com/weft-hpc/weft/server"
	"github.com/weft-hpc/weft/store/bolt"
	"github.com/weft-hpc/weft/store/memory"
)

type serverDaemon struct {
	parts
	config  config.Server
	folder  string // of the server's socket
	site    *settings.Site
	began   time.Time
	store   engine.Store
	witness vigil
	newest  core.Head          // of the store, as its witness says
	several *election.Election // nil: this server is the only one
	leads   func() bool        // nil: it is the only one
	now     atomic.Pointer[serving]
	past    server.History
	refused []server.Refused // of the last day
	halves  halves
	bounds  *connection.Bounds
	page    *metrics.Server
	shadow  *shadow.Policy   // nil on a standby
	hooks   *adapters.Server // nil: no scheduler's hooks run here

	turn    sync.Mutex // held where a reload's site is taken, and where a standby becomes the leader
	take    accept     // a reload's site
	standby func()     // ends the standby's server
}

// serving is the server that answers: that of a standby, and later that of a leader.
type serving struct {
	*server.Server
	verbs *server.Verbs
	leads bool
}

// Server runs the server of a site until ctx ends. Everything that can fail at the start fails before Ready.
func Server(ctx context.Context, site *settings.Site, o Options) (err error) {
	if failed := settings.Try(site.Policy, settings.Env(site.Config), site.Tests); hclfile.Failed(failed) {
		return config.AsError(failed) // as after an error in the policy itself: what a reload would not put in force, a restart must not either
	}
	if bad := site.Distrusted(config.OfServer); bad != nil {
		return config.AsError(bad)
	}
	d := &serverDaemon{parts: parts{Options: o}, config: site.Config.Server, site: site, began: time.Now()}
	if d.folder, err = filepath.Abs(filepath.Dir(d.config.Socket)); err != nil {
		return core.Errorf(core.BadConfig, "server: socket: %w", err)
	}
	defer func() { err = errors.Join(err, d.close()) }()
	if err := d.openRecords(ctx); err != nil {
		return err
	}
	if err := d.openParts(ctx, config.OfServer, d.folder, d.config.Audit, site); err != nil {
		return err
	}
	d.makePage()
	if err := d.openSchedulers(ctx); err != nil {
		return err
	}
	d.live.Accept, d.live.Taken = d.accept, func() []string { return d.reloaded(ctx) }
	if d.several != nil {
		err = d.follow(ctx)
	} else {
		err = d.makeServer(ctx)
	}
	if err != nil {
		return err
	}
	return d.serve(ctx, d.start, func(ctx context.Context) error { return d.now.Load().Look(ctx, func(*engine.Machine) {}) })
}

// openRecords opens the store, and the history where config.hcl names one.
func (d *serverDaemon) openRecords(ctx context.Context) (err error) {
	d.witness = vigil{path: d.config.Witness, log: d.Log}
	if d.config.Etcd != nil {
		err = d.openElection(ctx)
	} else if d.store, d.newest, err = openStore(d.config.Store, &d.witness); err == nil {
		d.later(d.store.Close)
	}
	if err != nil {
		return err
	}
	if d.config.History == "" {
		return nil
	}
	w, err := history.Open(d.config.History, 0, d.Log)
	if err != nil {
		return err
	}
	d.later(w.Close)
	d.past = w
	old, err := history.Refusals(d.config.History, time.Now().Add(-server.KeepRefused), server.MaxRefused)
	if err != nil {
		d.Log.Warn("`weft job` does not know which jobs were refused before this start", core.LogError, err)
	}
	for _, r := range old {
		d.refused = append(d.refused, server.Refused{JobID: r.Job, UID: r.UID, Node: r.Node, Why: r.Why, At: r.At})
	}
	return nil
}

func (d *serverDaemon) makePage() {
	d.bounds = connection.NewBounds(d.Log)
	d.page = metrics.NewServer(metrics.ServerOptions{
		Process: d.process(), Schedulers: d.site.Engine.Schedulers, Sizes: d.live.Sizes, Store: figures(d.store),
		Several:  d.figuresOfSeveral(),
		Observed: func() map[string]int { return d.now.Load().Observed().Counts() },
		Refused:  func() bool { return d.live.Refused() != nil }, NodeExpiry: d.bounds.FirstExpiry,
	})
}

// needs are those of every server.
func (d *serverDaemon) needs(site *settings.Site) server.Needs {
	return server.Needs{
		Store: d.store, Config: site.Engine, Policy: site.Policy, Log: d.Log, Audit: d.audit.Logger, History: d.past,
		Refused: d.refused, Sizes: site.Sizes, Meter: d.page, Allocator: site.Allocator, Schedulers: d.halves.here,
	}
}

// openSchedulers starts the halves of the schedulers that run on the server, and what answers hooks of their servers.
func (d *serverDaemon) openSchedulers(ctx context.Context) (err error) {
	if d.halves, err = schedulers(ctx, d.site, d.plugins, &d.live.Blocks); err != nil {
		return err
	}
	now := func() *server.Server { return d.now.Load().Server }
	d.hooks, err = adapters.NewServer(ctx, now, d.site, d.plugins, d.folder, d.live, d.Log)
	return err
}

// makeServer makes the server that leads.
func (d *serverDaemon) makeServer(ctx context.Context) (err error) {
	needs := d.needs(d.live.Site())
	needs.Witness, needs.Kept, needs.LeaveDown = d.newest, accountOf(d.config), d.config.Unwitnessed == config.UnwitnessedScheduler
	needs.At, needs.Own, needs.Leads = d.halves.at, d.halves.own, d.leads
	srv, err := server.New(ctx, needs)
	if err != nil {
		return err
	}
	d.shadow = &shadow.Policy{Server: srv, Site: d.live.Site, Log: d.Log, Audit: d.audit.Logger}
	d.later(d.shadow.Close)
	d.take = acceptor(srv)
	d.answerWith(srv, true)
	return nil
}

// answerWith has a server answer from now on.
func (d *serverDaemon) answerWith(srv *server.Server, leads bool) {
	d.page.Watch(srv)
	d.now.Store(&serving{srv, d.verbs(srv), leads})
}

// reloaded hands a reload that is in force on, and gives what else it changed.
func (d *serverDaemon) reloaded(ctx context.Context) []string {
	d.turn.Lock()
	policy := d.shadow
	d.turn.Unlock() // the adapters may take their time, and a standby may have to lead
	var changed []string
	if policy != nil {
		changed = policy.Reloaded()
	}
	if d.hooks != nil {
		if err := d.hooks.Update(ctx); err != nil {
			d.Log.Error("hooks that run beside the server do not know of the reload", core.LogError, err)
		}
	}
	return changed
}

// verbs are what operators may ask of the server.
func (d *serverDaemon) verbs(srv *server.Server) *server.Verbs {
	v := &server.Verbs{
		Server: srv, AdminGroup: d.config.AdminGroup, Member: d.Member, Version: d.Version, Began: d.began, Sizes: d.live.Sizes, Expiry: d.live.Expiry,
		Refused: d.live.Refused, Shown: d.bounds.Shown, Lost: d.witness.why,
		Read: map[string]listener.Handler{plugin.VerbList: plugin.List(d.plugins)},
		Local: map[string]listener.Handler{
			VerbDoctor: doctor(d.checks(srv)...), reload.Verb: d.live.Answer, plugin.VerbRestart: plugin.Restart(d.plugins, d.audit.Logger),
		},
	}
	if d.several != nil {
		v.Election = d.election
	}
	if d.shadow != nil {
		v.Shadow = d.shadow.Row
		v.More = map[string]listener.Handler{shadow.Verb: d.shadow.Answer}
	}
	return v
}

// checks are what `weft doctor` asks on the server's host.
func (d *serverDaemon) checks(srv *server.Server) []core.Checker {
	all := []core.Checker{settings.Files{Site: d.live.Site, Of: config.OfServer}, &d.witness, srv}
	if d.hooks != nil {
		all = append(all, d.hooks)
	}
	return all
}

// start opens the server's sockets and begins its tasks.
func (d *serverDaemon) start(t *tasks) error {
	operators, err := d.socket(d.config.Socket, 0o666)
	if err != nil {
		return err
	}
	if err := d.serveNodes(t); err != nil {
		return err
	}
	if err := d.serveMetrics(t, d.config.Metrics, d.page); err != nil {
		return err
	}
	d.answer(t, operators, listener.Users(), func(ctx context.Context, peer core.Peer, req hook.Request) (any, error) {
		return d.now.Load().verbs.Handle(ctx, peer, req)
	})
	if err := d.serveHooks(t); err != nil {
		return err
	}
	if d.several == nil {
		d.work(t)
		return nil
	}
	t.need(func(ctx context.Context) error { return d.succeed(ctx, t) })
	t.run(func(ctx context.Context) { d.several.Enrol(ctx, d.Version) })
	t.run(d.several.Look)
	return nil
}

// work runs the server that leads.
func (d *serverDaemon) work(t *tasks) {
	srv := d.now.Load().Server
	t.run(func(ctx context.Context) { _ = srv.Run(ctx) })
}

// serveHooks answers hooks that run in schedulers' servers.
func (d *serverDaemon) serveHooks(t *tasks) error {
	if d.hooks != nil {
		// The socket is root's alone, so that no user can keep a hook waiting for which a scheduler's server waits.
		ln, err := d.socket(d.hooks.Socket(), 0o600)
		if err != nil {
			return err
		}
		d.answer(t, ln, listener.Root(), d.hooks.Answer)
		t.run(func(ctx context.Context) { d.hooks.Keep(ctx, d.plugins) })
	}
	return nil
}

// serveNodes answers agents where config.hcl says that they reach the server.
func (d *serverDaemon) serveNodes(t *tasks) error {
	if d.config.Listen == "" {
		return nil
	}
	limitMemory(len(d.site.Nodes))
	port, err := connection.Listen(d.config, d.bounds)
	if err != nil {
		return err
	}
	d.end(port)
	d.live.Certs = port.Certs
	t.need(func(ctx context.Context) error { return port.Serve(ctx, d.authority()) })
	t.run(func(ctx context.Context) {
		warnExpiry(ctx, d.Log, "the server's", d.live.Expiry, "renew it with `weft tls init`, which needs no restart")
	})
	t.run(func(ctx context.Context) { warnNodes(ctx, d.Log, d.bounds.Shown) })
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

func openStore(path string, witness *vigil) (engine.Store, core.Head, error) {
	if path == config.MemoryStore {
		return memory.New(), core.Head{}, nil
	}
	s, err := bolt.Open(path, bolt.Options{Witness: witness.path, Lost: witness.tell})
	if err != nil {
		return nil, core.Head{}, err
	}
	return s, s.Seen(), nil
}

// halves are the schedulers' halves as the server reaches them.
type halves struct {
	here map[string]core.SchedulerClient
	at   map[string]string // nodes where others run
	own  []string          // those in here of whose jobs each node tells its own
}

// schedulers starts the halves of the schedulers that run on the server. One that does not start is started again by itself; what it cannot tell meanwhile
// frees nothing and grants nothing.
func schedulers(ctx context.Context, site *settings.Site, plugins *host.Host, in *plugin.Blocks) (halves, error) {
	out := halves{here: map[string]core.SchedulerClient{}, at: map[string]string{}}
	for _, p := range site.Config.Schedulers {
		if p.Type == "local" {
			out.here[p.Name] = core.Dispatcher{Of: local.New(p.Name)} // goes by the notes that agents make; what it watches, they forward
			out.own = append(out.own, p.Name)
			continue
		}
		if p.At != "" {
			out.at[p.Name] = p.At
			continue
		}
		s, findings := in.Spec(host.Scheduler, p)
		if len(findings) > 0 {
			return halves{}, config.AsError(findings)
		}
		started, err := plugins.Start(ctx, s)
		if started == nil {
			return halves{}, err
		}
		out.here[p.Name] = plugin.AliasesOf(p).Scheduler(started.Scheduler())
	}
	return out, nil
}

// accept puts a site in force.
type accept func(ctx context.Context, old, site *settings.Site) ([]string, []hclfile.Finding, error)

func (d *serverDaemon) accept(ctx context.Context, old, site *settings.Site) ([]string, []hclfile.Finding, error) {
	d.turn.Lock()
	defer d.turn.Unlock()
	return d.take(ctx, old, site)
}

// sameAdapters keeps the schedulers of the start until a restart: no adapter was started for others.
func sameAdapters(old, site *settings.Site) {
	site.Engine.Schedulers = old.Engine.Schedulers
	if site.Config.Server.Listen != "" {
		limitMemory(len(site.Nodes))
	}
}

// acceptor puts in force what is a server's own.
func acceptor(srv *server.Server) accept {
	return func(ctx context.Context, old, site *settings.Site) ([]string, []hclfile.Finding, error) {
		sameAdapters(old, site)
		return nil, nil, srv.Reload(ctx, server.Change{
			Config: site.Engine, Policy: site.Policy, Allocator: site.Allocator, Sizes: site.Sizes, Resize: func(a engine.Allocator) error {
				in, ok := a.(*allocator.Allocator)
				if !ok {
					return core.Errorf(core.NotSupported, "reload: the allocator in use cannot be resized")
				}
				return in.Resize(site.Pools)
			},
		})
	}
}
