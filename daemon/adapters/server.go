package adapters

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon/reload"
	"github.com/weft-hpc/weft/daemon/settings"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/rundir"
	"github.com/weft-hpc/weft/host"
	"github.com/weft-hpc/weft/server"
)

// HooksFolder is the folder beside the server's socket in which it listens for hooks that run in a scheduler's own server, as PBS's runjob and jobobit do.
const HooksFolder = "server"

// Server answers hooks that run on the server's host.
type Server struct {
	*HookTable
	server  func() *server.Server
	plugins *host.Host
	live    *reload.Reloader
}

// NewServer is nil where no scheduler's half runs here. It writes for weft-hook what that must know of the hooks.
func NewServer(
	ctx context.Context, srv func() *server.Server, site *settings.Site, plugins *host.Host, run string,
	live *reload.Reloader, log *slog.Logger,
) (*Server, error) {
	t := &HookTable{run: rundir.Dir(filepath.Join(run, HooksFolder)), types: map[string]string{}, hooks: map[string]core.Hooks{}, log: log}
	b := &Server{HookTable: t, server: srv, plugins: plugins, live: live}
	t.edit = b.edit
	for _, p := range site.Config.Schedulers {
		if p.Type == "local" || p.At != "" {
			continue
		}
		t.hooks[p.Name], t.types[p.Name] = plugins.Plugin(host.Scheduler, p.Name).Hooks(), p.Type
	}
	if len(t.hooks) == 0 {
		return nil, nil
	}
	if err := os.MkdirAll(string(t.run), 0o755); err != nil {
		return nil, core.Errorf(core.BadConfig, "server: socket: %w", err)
	}
	t.begin(ctx)
	return b, t.Write()
}

// edit leaves the phases that ask for room. Where the server is away, weft-hook may go by them if the policy says so.
func (b *Server) edit(h *rundir.Hooks) {
	h.Schedulers = slices.DeleteFunc(slices.Clone(h.Schedulers), func(s rundir.Scheduler) bool {
		return !slices.ContainsFunc(s.Phases, func(p rundir.Phase) bool { return p.Action == core.Room })
	})
	observe(h, func(scheduler string) bool {
		_, observed := b.live.Site().Engine.Observe[scheduler]
		return observed
	})
	for i := range h.Schedulers {
		phases := slices.Clone(h.Schedulers[i].Phases)
		h.Schedulers[i].Phases = phases
		for k := range phases {
			phases[k].Away = nil
			if phases[k].Action == core.Room && b.live.Site().Policy.Degrade() {
				phases[k].Away = &phases[k].Bypass
			}
		}
	}
}

// checkLimit bounds Check: it is less than `weft doctor` waits.
const checkLimit = 15 * time.Second

// Check has the findings of those schedulers whose own server asks this one. Their configuration can be seen from their
// server's host alone.
func (b *Server) Check(ctx context.Context) (all []core.Finding, err error) {
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	for _, s := range b.Hooks().Schedulers {
		of := string(host.Scheduler) + " " + s.Name
		all = append(all, agent.Checked(ctx, of, b.plugins.Plugin(host.Scheduler, s.Name).Checker())...)
	}
	return all, nil
}

func (b *Server) Socket() string { return b.run.RootSocket() }

// Answer answers a hook: it is a listener.Handler.
func (b *Server) Answer(ctx context.Context, peer core.Peer, req hook.Request) (any, error) {
	if req.Verb != "hook" {
		return nil, core.Errorf(core.BadCall, "verb %q: only hooks are answered here", core.Clip(req.Verb))
	}
	var call core.HookCall
	if err := req.Decode(&call); err != nil {
		return nil, err
	}
	hooks := b.hooks[call.Scheduler]
	if hooks == nil {
		return nil, core.Errorf(core.BadCall, "scheduler %q: config.hcl of the server declares none of that name with hooks here", core.Clip(call.Scheduler))
	}
	call.ID, call.Began, call.Peer = req.ID, req.Began, peer
	reply, err := b.server().Hook(ctx, hooks, b.live.Sizes(), call)
	return reply, err
}
