package daemon

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	machine "github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/daemon/adapters"
	"github.com/weft-hpc/weft/daemon/connection"
	"github.com/weft-hpc/weft/daemon/plugin"
	"github.com/weft-hpc/weft/daemon/reload"
	"github.com/weft-hpc/weft/daemon/settings"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/hook/listener"
	"github.com/weft-hpc/weft/hook/rundir"
	"github.com/weft-hpc/weft/identity"
	"github.com/weft-hpc/weft/metrics"
	"github.com/weft-hpc/weft/store/bolt"
)

type agentDaemon struct {
	parts
	config   config.Agent
	name     string // of this node
	host     Host
	run      rundir.Dir
	site     *settings.Site
	certs    *identity.Source
	records  bolt.Ledger
	driver   core.NICDriver
	adapters *adapters.Node
	table    *adapters.HookTable
	root     net.Listener // for root, and users for all
	users    net.Listener
	link     *connection.Link
	page     *metrics.Agent
	agent    *agent.Agent
}

// Agent runs the agent of this node, on a host, until ctx ends.
func Agent(ctx context.Context, site *settings.Site, host Host, o Options) (err error) {
	if bad := site.Distrusted(config.OfAgent); bad != nil {
		return config.AsError(bad)
	}
	d := &agentDaemon{parts: parts{Options: o}, config: site.Config.Agent, host: host, site: site}
	defer func() { err = errors.Join(err, d.close()) }()
	if err := d.openNode(); err != nil {
		return err
	}
	if err := d.openParts(ctx, config.OfAgent, d.config.Dir, d.config.Audit, site); err != nil {
		return err
	}
	d.live.Certs = d.certs
	if err := d.makeAgent(ctx); err != nil {
		return err
	}
	d.live.Accept = d.accept
	d.live.Taken = func() []string { // other services may be unknown now, and other jobs served
		if err := d.table.Update(ctx); err != nil {
			d.Log.Error("hooks of this node do not know of the reload", core.LogError, err)
		}
		_ = d.agent.Reread(ctx)
		return nil
	}
	return d.serve(ctx, d.start, func(ctx context.Context) error { return d.agent.Look(ctx, func(*machine.Machine) {}) })
}

// openNode reads which node this is, and opens its folder and its ledger.
func (d *agentDaemon) openNode() (err error) {
	if d.certs, d.name, err = connection.OpenNode(d.config.TLS); err != nil {
		return err
	}
	if err := d.host.read(); err != nil {
		return err
	}
	if d.config.Dir, err = filepath.Abs(d.config.Dir); err == nil {
		err = os.MkdirAll(d.config.Dir, 0o755)
	}
	if err != nil {
		return core.Errorf(core.BadConfig, "agent: dir: %w", err)
	}
	d.run = rundir.Dir(d.config.Dir)
	if err := d.run.Check(); err != nil {
		return err
	}
	if d.records, err = bolt.OpenLedger(filepath.Join(d.config.Dir, "ledger.db")); err != nil {
		return err
	}
	d.later(d.records.Close)
	return nil
}

// makeAgent makes the agent, with the driver and the adapters around it. The driver comes after the sockets, where callers
// wait for it: it may take a while to start.
func (d *agentDaemon) makeAgent(ctx context.Context) (err error) {
	if d.adapters, err = adapters.NewNode(ctx, d.site, d.name, d.config.Dir, d.plugins, &d.live.Blocks, d.Log); err != nil {
		return err
	}
	d.later(d.adapters.Close)
	first, err := d.adapters.ExemptRunning(ctx, d.run, d.host.Boot, d.Log, d.audit.Logger)
	if err != nil {
		return err
	}
	d.table = adapters.NewHookTable(ctx, d.adapters, d.run, func(s string) bool { return d.mode(s) == agent.ServesNone }, d.Log)
	if err := d.listen(); err != nil {
		return err
	}
	if d.driver, err = plugin.StartDriver(ctx, d.site.Config, d.plugins, &d.live.Blocks); err != nil {
		return err
	}
	if d.link, err = connection.NewLink(d.config.Servers, d.certs); err != nil {
		return err
	}
	d.later(d.link.Close)
	d.page = metrics.NewAgent(metrics.AgentOptions{Process: d.process(), Bypasses: d.run.BypassCount})
	d.agent, err = agent.New(ctx, agent.Needs{
		Meter: d.page, Node: d.name, Boot: d.host.Boot, Hardware: d.host.Hardware, Driver: d.driver, Hooks: d.adapters.Hooks, Schedulers: d.adapters.Schedulers,
		Requeuers: d.adapters.Requeuers, Authority: d.link, Store: d.records, Environ: d.run.Environs(), Rundir: d.run, First: first,
		HookTable: d.table.Hooks(), Log: d.Log, Audit: d.audit.Logger, Degrade: func() bool { return d.live.Site().Policy.Degrade() },
		Mode: d.mode,
		Machine: machine.Config{
			Observes:    func() bool { return len(d.live.Site().Engine.Observe) > 0 },
			SelfService: d.adapters.Own, Cores: d.host.Cores,
			Served: func(vnis []core.VNI) bool { return d.live.Site().Engine.Served(d.name, vnis) != "" },
		},
	})
	if err != nil {
		return err
	}
	d.adapters.Agent = d.agent
	d.page.Watch(d.agent)
	return nil
}

// mode says which jobs of a scheduler are served on this node.
func (d *agentDaemon) mode(scheduler string) agent.Mode {
	for _, p := range d.live.Site().Config.Schedulers {
		switch {
		case p.Name != scheduler || !p.Observe:
		case p.Observes(d.name):
			return agent.ServesNone
		default:
			return agent.ServesSome
		}
	}
	return agent.ServesAll
}

// accept puts in force what is the agent's own: the blocks of local adapters, the server's address, and a certificate that was renewed.
func (d *agentDaemon) accept(ctx context.Context, old, site *settings.Site) (changed []string, findings []hclfile.Finding, err error) {
	findings = d.adapters.Reconfigure(ctx, config.Reconfigured(old.Config.Schedulers, site.Config.Schedulers))
	if findings == nil {
		if to := site.Config.Agent.Servers; !slices.Equal(to, old.Config.Agent.Servers) {
			err = d.link.Move(to)
		}
		if err == nil {
			var renewed bool
			if renewed, err = d.link.Renew(); renewed {
				changed = append(changed, "agent: this node's certificate was renewed: in force now")
			}
		}
	}
	if findings != nil || err != nil {
		d.adapters.Reconfigure(ctx, config.Reconfigured(site.Config.Schedulers, old.Config.Schedulers))
	}
	return changed, findings, err
}

// verbs are what the agent answers on its sockets.
func (d *agentDaemon) verbs() *agent.Verbs {
	more := d.adapters.Verbs
	more[reload.Verb] = rootOnly(reload.Verb, d.live.Answer)
	more[plugin.VerbList] = plugin.List(d.plugins)
	more[plugin.VerbRestart] = rootOnly(plugin.VerbRestart, plugin.Restart(d.plugins, d.audit.Logger))
	more[VerbBypass] = rootOnly(VerbBypass, bypassVerb(d.audit.Logger))
	return d.agent.Verbs(d.live.Examined(), more)
}

// listen opens the node's two sockets.
func (d *agentDaemon) listen() (err error) {
	if d.root, err = d.socket(d.run.RootSocket(), 0o600); err != nil {
		return err
	}
	if d.users, err = d.socket(d.run.UsersSocket(), 0o666); err != nil {
		return err
	}
	return d.table.Write()
}

// start begins the agent's tasks.
func (d *agentDaemon) start(t *tasks) error {
	if err := d.serveMetrics(t, d.config.Metrics, d.page); err != nil {
		return err
	}
	t.run(func(ctx context.Context) { _ = d.agent.Run(ctx) })
	t.run(d.adapters.Run)
	t.run(func(ctx context.Context) { d.link.Keep(ctx, d.Log) })
	t.run(func(ctx context.Context) { d.link.Follow(ctx, d.agent.Hurry) })
	t.run(func(ctx context.Context) {
		warnExpiry(ctx, d.Log, "this node's", d.live.Expiry,
			"renew it with `weft tls node NAME` where the site's authority is and bring the two files here, which needs no restart")
	})
	t.run(func(ctx context.Context) { d.table.Keep(ctx, d.plugins) })
	t.run(func(ctx context.Context) { plugin.Reread(ctx, d.plugins, d.agent) })
	verbs := d.verbs()
	d.answer(t, d.root, listener.Root(), verbs.Handle)
	d.answer(t, d.users, listener.Users(), verbs.Handle)
	return nil
}
