package daemon

import (
	"context"
	"io/fs"
	"log/slog"
	"net"
	"os"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon/audit"
	"github.com/weft-hpc/weft/daemon/plugin"
	"github.com/weft-hpc/weft/daemon/reload"
	"github.com/weft-hpc/weft/daemon/settings"
	"github.com/weft-hpc/weft/hook/listener"
	"github.com/weft-hpc/weft/host"
	"github.com/weft-hpc/weft/host/cgroup"
	"github.com/weft-hpc/weft/metrics"
)

type Options struct {
	Version string
	Log     *slog.Logger
	Ready   func()           // called once it serves
	Reopen  <-chan os.Signal // asks to open the audit's file again, as SIGHUP does; nil: nobody does
	Watch   Watchdog
	Member  func(ctx context.Context, uid uint32, group string) bool // whether who calls belongs to a group; nil: what this host's files say is all
}

type parts struct {
	Options
	closers
	plugins *host.Host
	audit   *audit.Log
	live    *reload.Reloader
}

// openParts makes a host for plugins in dir, the audit, and what puts a changed site in force.
func (p *parts) openParts(ctx context.Context, of config.Daemon, dir, auditFile string, site *settings.Site) (err error) {
	tree, err := cgroup.Delegated()
	if err != nil {
		p.Log.Warn("the memory of plugins is watched, since their cgroups cannot be made", core.LogError, err)
	}
	if p.plugins, err = host.New(host.Options{Dir: dir, Log: p.Log, Version: p.Version, Cgroup: tree}); err != nil {
		return err
	}
	p.later(func() error { return p.plugins.Close(context.WithoutCancel(ctx)) })
	if p.audit, err = audit.Open(auditFile, p.Log); err != nil {
		return err
	}
	p.later(p.audit.Close)
	p.live = reload.New(site, of, dir, p.plugins, p.Log, p.audit)
	return nil
}

func (p *parts) process() metrics.Process {
	return metrics.Process{Version: p.Version, Expiry: p.live.Expiry, Plugins: plugin.Figures(p.plugins), Runtime: true}
}

// socket opens a unix socket, which ends with the daemon.
func (p *parts) socket(path string, mode fs.FileMode) (net.Listener, error) {
	ln, err := listener.Listen(path, mode)
	if err == nil {
		p.end(ln)
	}
	return ln, err
}

// end closes a listener with the daemon. Whoever serves it may have closed it before.
func (p *parts) end(ln net.Listener) {
	p.later(func() error { _ = ln.Close(); return nil })
}

func (p *parts) answer(t *tasks, ln net.Listener, bounds listener.Bounds, handle listener.Handler) {
	t.need(func(ctx context.Context) error {
		if err := (&listener.Server{Bounds: bounds, Log: p.Log}).Serve(ctx, ln, handle); err != nil {
			return core.Errorf(core.InternalFault, "socket %s: %w", ln.Addr(), err)
		}
		return nil
	})
}

// reopen opens the audit's file again at each signal, and does nothing else: a rotation of logs must not put an
// administrator's unfinished edits in force.
func (p *parts) reopen(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.Reopen:
			p.Log.Info("SIGHUP reopens the audit; only `weft reload` puts changed files in force")
			p.audit.Reopen()
		}
	}
}

// serve runs what start begins, and the tasks of both daemons, until ctx ends. look asks the daemon's writer.
func (p *parts) serve(ctx context.Context, start func(*tasks) error, look func(context.Context) error) error {
	t := newTasks(ctx)
	if err := start(t); err != nil {
		t.cancel(err)
		t.all.Wait()
		return err
	}
	t.run(p.reopen)
	t.run(func(ctx context.Context) { p.Watch.run(ctx, look, p.Log) })
	p.live.Start()
	if p.Ready != nil {
		p.Ready()
	}
	return t.wait()
}
