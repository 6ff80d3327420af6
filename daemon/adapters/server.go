package adapters

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon/reload"
	"github.com/weft-hpc/weft/daemon/settings"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/rundir"
	"github.com/weft-hpc/weft/host"
	"github.com/weft-hpc/weft/poll"
	"github.com/weft-hpc/weft/server"
)

// HooksFolder is the folder beside the server's socket in which it listens for hooks that run in a scheduler's own server, as PBS's runjob and jobobit do.
const HooksFolder = "server"

// Server answers hooks that run on the server's host.
type Server struct {
	server *server.Server
	hooks  map[string]core.Hooks
	run    rundir.Dir
	live   *reload.Reloader
	log    *slog.Logger

	mu     sync.Mutex
	told   rundir.Hooks
	untold string // why not all of it
}

// NewServer is nil where no scheduler's half runs here.
func NewServer(ctx context.Context, srv *server.Server, site *settings.Site, plugins *host.Host, run string, live *reload.Reloader, log *slog.Logger) (*Server, error) {
	b := &Server{server: srv, hooks: map[string]core.Hooks{}, run: rundir.Dir(filepath.Join(run, HooksFolder)), live: live, log: log}
	for _, p := range site.Config.Schedulers {
		if p.Type == "local" || p.At != "" {
			continue
		}
		hooks, err := plugins.Hooks(p.Name)
		if err != nil {
			return nil, err
		}
		b.hooks[p.Name] = hooks
	}
	if len(b.hooks) == 0 {
		return nil, nil
	}
	if err := os.MkdirAll(string(b.run), 0o755); err != nil {
		return nil, core.Errorf(core.BadConfig, "server: socket: %w", err)
	}
	if before, err := b.run.Hooks(); err == nil {
		b.told = before
	}
	return b, b.Tell(ctx)
}

// Tell leaves for weft-hook what it must know, and that it may go by where policy says so. It is called again after each reload.
func (b *Server) Tell(ctx context.Context) error {
	site := b.live.Site()
	types := map[string]string{}
	for _, p := range site.Config.Schedulers {
		types[p.Name] = p.Type
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	told, err := agent.HookTable(ctx, "", types, b.hooks, b.told)
	why := ""
	if err != nil {
		why = err.Error()
	}
	if why != "" && why != b.untold {
		b.log.Warn("not every adapter tells the phases of its hooks; weft-hook goes by what it was told before, where it was", core.LogError, err)
	}
	b.untold = why
	told.Schedulers = slices.DeleteFunc(told.Schedulers, func(s rundir.Scheduler) bool {
		return !slices.ContainsFunc(s.Phases, func(p rundir.Phase) bool { return p.Action == core.Room })
	})
	for i := range told.Schedulers {
		phases := told.Schedulers[i].Phases
		for k := range phases {
			phases[k].Away = nil
			if phases[k].Action == core.Room && site.Policy.Degrade() {
				phases[k].Away = &phases[k].Bypass
			}
		}
	}
	if reflect.DeepEqual(told, b.told) {
		return nil
	}
	b.told = told
	return b.run.WriteHooks(told)
}

// Keep tells anew whenever a scheduler's plugin was started.
func (b *Server) Keep(ctx context.Context, plugins *host.Host) {
	for ctx.Err() == nil {
		_ = plugins.Watch(ctx, func([]host.Status) error { return b.Tell(ctx) })
		if !poll.Pause(ctx, askAgain) {
			return
		}
	}
}

// Socket is where it listens.
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
	reply, err := b.server.Hook(ctx, hooks, b.live.Sizes(), call)
	return reply, err
}
