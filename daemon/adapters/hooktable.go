package adapters

import (
	"context"
	"log/slog"
	"reflect"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook/rundir"
	"github.com/weft-hpc/weft/host"
	"github.com/weft-hpc/weft/poll"
)

// askAgain is the pause before adapters that could not tell their phases are asked again.
const askAgain = 15 * time.Second

// HookTable keeps what weft-hook is told of a node's adapters.
type HookTable struct {
	adapters *Node
	run      rundir.Dir
	log      *slog.Logger
	Hooks    rundir.Hooks
	untold   string // why not all of it
}

// NewHookTable asks every adapter. One that cannot tell yet is asked again when its plugin is started; until then what the agent before this one was told holds.
func NewHookTable(ctx context.Context, a *Node, run rundir.Dir, log *slog.Logger) *HookTable {
	f := &HookTable{adapters: a, run: run, log: log}
	if before, err := run.Hooks(); err == nil {
		f.Hooks = before
	}
	f.note(f.ask(ctx))
	return f
}

func (f *HookTable) ask(ctx context.Context) (err error) {
	f.Hooks, err = agent.HookTable(ctx, f.adapters.node, f.adapters.types, f.adapters.Hooks, f.Hooks)
	return err
}

func (f *HookTable) note(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != f.untold {
		f.log.Warn("not every adapter tells the phases of its hooks; weft-hook goes by what it was told before, where it was", core.LogError, err)
	}
	f.untold = text
}

// Keep asks again whenever a scheduler's plugin was started, which may then be another build.
func (f *HookTable) Keep(ctx context.Context, plugins *host.Host) {
	var seen map[string]int
	for ctx.Err() == nil {
		err := plugins.Watch(ctx, func(states []host.Status) error {
			now := map[string]int{}
			for _, s := range states {
				if s.Kind == host.Scheduler && s.State == host.Ready {
					now[s.Name] = s.Starts
				}
			}
			if reflect.DeepEqual(now, seen) {
				return nil
			}
			before := f.Hooks
			err := f.ask(ctx)
			if !reflect.DeepEqual(f.Hooks, before) {
				if fail := f.run.WriteHooks(f.Hooks); fail != nil {
					f.Hooks = before
					return fail
				}
				f.adapters.Agent.SetHookTable(f.Hooks)
			}
			if err == nil {
				f.note(nil)
				seen = now
			}
			return err
		})
		if ctx.Err() != nil {
			return
		}
		f.note(err)
		if !poll.Pause(ctx, askAgain) {
			return
		}
	}
}
