package daemon

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
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
	"github.com/weft-hpc/weft/hook/rundir"
	"github.com/weft-hpc/weft/host"
	"github.com/weft-hpc/weft/server"
)

// HooksFolder is the folder beside the server's socket in which it listens for hooks that run in a scheduler's own server, as PBS's runjob and jobobit do.
const HooksFolder = "server"

// schedulerHooks answers hooks that run on the server's host.
type schedulerHooks struct {
	server *server.Server
	hooks  map[string]core.Hooks
	run    rundir.Dir
	live   *reloader
	log    *slog.Logger

	mu     sync.Mutex
	told   rundir.Hooks
	untold string // why not all of it
}

// newSchedulerHooks is nil where no scheduler's half runs here.
func newSchedulerHooks(ctx context.Context, srv *server.Server, site *Site, plugins *host.Host, run string, live *reloader, log *slog.Logger) (*schedulerHooks, error) {
	b := &schedulerHooks{server: srv, hooks: map[string]core.Hooks{}, run: rundir.Dir(filepath.Join(run, HooksFolder)), live: live, log: log}
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
	return b, b.tell(ctx)
}

// tell leaves for weft-hook what it must know, and that it may go by where policy says so. It is called again after each reload.
func (b *schedulerHooks) tell(ctx context.Context) error {
	site := b.live.site.Load()
	types := map[string]string{}
	for _, p := range site.Config.Schedulers {
		types[p.Name] = p.Type
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	told, err := agent.Front(ctx, "", types, b.hooks, b.told)
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

// keep tells anew whenever a scheduler's plugin was started.
func (b *schedulerHooks) keep(ctx context.Context, plugins *host.Host) {
	for ctx.Err() == nil {
		_ = plugins.Watch(ctx, func([]host.Status) error { return b.tell(ctx) })
		if !rest(ctx, askAgain) {
			return
		}
	}
}

// serve listens until ctx ends. The socket is root's alone, so that no user can keep a hook waiting for which a scheduler's server waits.
func (b *schedulerHooks) serve(ctx context.Context, all *sync.WaitGroup, cancel context.CancelCauseFunc) error {
	ln, err := listener.Listen(b.run.RootSocket(), 0o600)
	if err != nil {
		return err
	}
	all.Go(func() {
		if err := (&listener.Server{Bounds: listener.Root(), Log: b.log}).Serve(ctx, ln, b.handle); err != nil {
			cancel(core.Errorf(core.InternalFault, "socket %s: %w", ln.Addr(), err))
		}
	})
	return nil
}

// handle is a listener.Handler.
func (b *schedulerHooks) handle(ctx context.Context, peer core.Peer, req hook.Request) (any, error) {
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
	reply, err := b.server.Hook(ctx, hooks, b.live.sizes(), call)
	return reply, err
}
