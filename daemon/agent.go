package daemon

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	machine "github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/hook/listener"
	"github.com/weft-hpc/weft/hook/rundir"
	"github.com/weft-hpc/weft/host"
	"github.com/weft-hpc/weft/identity"
	"github.com/weft-hpc/weft/metrics"
	"github.com/weft-hpc/weft/store/ledger"
)

// bootFile holds the boot id of this machine.
const bootFile = "/proc/sys/kernel/random/boot_id"

// Agent runs the agent of this node until ctx ends. boot is the node's boot id; empty means the machine's.
func Agent(ctx context.Context, site *Site, boot string, o Options) (err error) {
	c := site.Config.Agent
	certs, name, err := node(c.TLS)
	if err != nil {
		return err
	}
	if boot == "" {
		text, err := os.ReadFile(bootFile)
		if err != nil {
			return core.Errorf(core.InternalFault, "boot id: %w", err)
		}
		boot = strings.TrimSpace(string(text))
	}
	if c.Dir, err = filepath.Abs(c.Dir); err != nil {
		return core.Errorf(core.BadConfig, "agent: dir: %w", err)
	}
	run := rundir.Dir(c.Dir)
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return core.Errorf(core.BadConfig, "agent: dir: %w", err)
	}
	if err := run.Check(); err != nil {
		return err
	}
	var undo []func() error
	defer func() {
		for i := len(undo) - 1; i >= 0; i-- {
			err = errors.Join(err, undo[i]())
		}
	}()
	records, err := ledger.Open(filepath.Join(c.Dir, "ledger.db"))
	if err != nil {
		return err
	}
	undo = append(undo, records.Close)
	plugins, err := host.New(host.Options{Dir: c.Dir, Log: o.Log, Version: o.Version})
	if err != nil {
		return err
	}
	undo = append(undo, func() error { return plugins.Close(context.WithoutCancel(ctx)) })
	audit, reopen, closing, err := openAudit(c.Audit, o.Log)
	if err != nil {
		return err
	}
	undo = append(undo, closing)
	live := &reloader{of: config.OfAgent, log: o.Log, audit: audit, reopen: reopen, plugins: plugins, certs: certs}
	live.site.Store(site)
	driver, err := driver(ctx, site, plugins, &live.blocks)
	if err != nil {
		return err
	}
	adapters, err := newAdapters(ctx, site, name, c.Dir, plugins, &live.blocks, o)
	if err != nil {
		return err
	}
	undo = append(undo, adapters.close)

	untold, err := exemptRunning(ctx, run, name, boot, asked{adapters.schedulers, slices.Sorted(maps.Keys(adapters.hooks)), adapters.own}, o.Log, audit)
	if err != nil {
		return err
	}
	way := &line{certs: certs}
	if err := way.move(c.Server); err != nil {
		return err
	}
	undo = append(undo, way.close)
	front := newFront(ctx, adapters, run, o.Log)
	page := metrics.NewAgent(metrics.AgentOptions{
		Process: metrics.Process{Version: o.Version, Expiry: live.expiry, Plugins: pluginFigures(plugins), Runtime: true}, Bypasses: run.BypassCount,
	})
	a, err := agent.New(ctx, agent.Needs{
		Meter: page,
		Node:  name, Boot: boot, Driver: driver, Hooks: adapters.hooks, Schedulers: adapters.schedulers, Requeuers: adapters.requeuers, Authority: way, Store: records,
		Environ: run.Environs(), Rundir: run, First: untold, Front: front.told, Log: o.Log, Audit: audit, Degrade: func() bool { return live.site.Load().Policy.Degrade() }, Machine: machine.Config{SelfService: adapters.own},
	})
	if err != nil {
		return err
	}
	adapters.agent = a
	page.Watch(a)
	live.accept = func(ctx context.Context, old, site *Site) (changed []string, _ []hclfile.Finding, _ error) {
		findings := adapters.reconfigure(ctx, config.Reconfigured(old.Config.Schedulers, site.Config.Schedulers))
		var err error
		if to := site.Config.Agent.Server; findings == nil && to != old.Config.Agent.Server {
			err = way.move(to)
		}
		if findings == nil && err == nil {
			var renewed bool
			if renewed, err = way.renew(); renewed {
				changed = append(changed, "agent: this node's certificate was renewed: in force now")
			}
		}
		if findings != nil || err != nil {
			adapters.reconfigure(ctx, config.Reconfigured(site.Config.Schedulers, old.Config.Schedulers))
		}
		return changed, findings, err
	}
	adapters.verbs[verbReload] = rootOnly(verbReload, live.verb)
	adapters.verbs[verbPlugins] = pluginsVerb(plugins)
	adapters.verbs[verbRestartPlugin] = rootOnly(verbRestartPlugin, restartVerb(plugins, audit))
	adapters.verbs[VerbBypass] = rootOnly(VerbBypass, bypassVerb(audit))
	return serveHooks(ctx, c, a, adapters, front, page, live, way, o)
}

// serveHooks opens the node's two sockets and runs the agent.
func serveHooks(ctx context.Context, c config.Agent, a *agent.Agent, adapters *adapters, front *front, page http.Handler, live *reloader, way *line, o Options) error {
	run := rundir.Dir(c.Dir)
	root, err := listener.Listen(run.RootSocket(), 0o600)
	if err != nil {
		return err
	}
	users, err := listener.Listen(run.UsersSocket(), 0o666)
	if err != nil {
		return errors.Join(err, root.Close())
	}
	if err := run.WriteHooks(front.told); err != nil {
		return errors.Join(err, root.Close(), users.Close())
	}
	desk := &agent.Verbs{Agent: a, More: adapters.verbs, Site: live.examined()}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	if err := serveMetrics(ctx, &all, cancel, c.Metrics, page); err != nil {
		return errors.Join(err, root.Close(), users.Close())
	}
	all.Go(func() { live.hear(ctx, o.Reload) })
	all.Go(func() { _ = a.Run(ctx) })
	all.Go(func() {
		o.Watch.run(ctx, func(ctx context.Context) error { return a.Look(ctx, func(*machine.Machine) {}) }, o.Log)
	})
	all.Go(func() { adapters.run(ctx) })
	all.Go(func() { way.keep(ctx, o.Log) })
	all.Go(func() {
		warnExpiry(ctx, o.Log, "this node's", live.expiry, "renew it with `weft tls node NAME` where the site's authority is and bring the two files here, which needs no restart")
	})
	all.Go(func() { front.keep(ctx, live.plugins) })
	all.Go(func() { reread(ctx, live.plugins, a) })
	for _, f := range []struct {
		ln     net.Listener
		bounds listener.Bounds
	}{{root, listener.Root()}, {users, listener.Users()}} {
		all.Go(func() {
			if err := (&listener.Server{Bounds: f.bounds, Log: o.Log}).Serve(ctx, f.ln, desk.Handle); err != nil {
				cancel(core.Errorf(core.InternalFault, "socket %s: %w", f.ln.Addr(), err))
			}
		})
	}
	if o.Ready != nil {
		o.Ready()
	}
	all.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// node opens this node's certificate: the one in dir that is neither the authority's nor the server's. The node is called what it says.
func node(dir string) (*identity.Source, string, error) {
	all, err := filepath.Glob(filepath.Join(dir, "*.crt"))
	if err != nil {
		return nil, "", core.Errorf(core.BadConfig, "agent: tls: %w", err)
	}
	var mine []string
	for _, path := range all {
		if base := filepath.Base(path); base != identity.CAFile && base != "server.crt" {
			mine = append(mine, path)
		}
	}
	if len(mine) != 1 {
		return nil, "", core.Errorf(core.BadConfig, "agent: tls %s: it holds %d certificates of nodes, and this node has one", dir, len(mine)).
			WithRemedy("make it with `weft tls node NAME` where the site's authority is, and bring NAME.crt, NAME.key and ca.crt here")
	}
	certs, err := identity.Open(identity.Files{CA: filepath.Join(dir, identity.CAFile), Cert: mine[0], Key: strings.TrimSuffix(mine[0], ".crt") + ".key"})
	if err != nil {
		return nil, "", err
	}
	leaf, err := certs.Leaf()
	if err != nil {
		return nil, "", err
	}
	name, err := identity.Node(leaf)
	return certs, name, err
}

// findingsError carries findings to whoever can show them.
func findingsError(findings []hclfile.Finding) error { return &FindingsError{findings} }

// FindingsError is a complaint about config.hcl.
type FindingsError struct{ Findings []hclfile.Finding }

func (e *FindingsError) Error() string { return hclfile.AsError(e.Findings).Error() }
