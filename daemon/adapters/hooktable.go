package adapters

import (
	"context"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook/rundir"
	"github.com/weft-hpc/weft/host"
	"github.com/weft-hpc/weft/poll"
)

// askAgain is the pause before adapters that could not tell their phases are asked again.
const askAgain = 15 * time.Second

// HookTable keeps what weft-hook must know of adapters in a run directory.
type HookTable struct {
	run     rundir.Dir
	node    string // empty: the hooks run beside the server
	types   map[string]string
	hooks   map[string]core.Hooks
	edit    func(*rundir.Hooks) // changes what adapters tell, before it is written; nil: nothing does
	changed func(rundir.Hooks)  // takes what was written; nil: nobody does
	log     *slog.Logger

	mu    sync.Mutex
	now   rundir.Hooks
	fault string // why adapters could not tell all of it, or why it was not written
}

// NewHookTable asks every adapter of a node. Keep asks one that cannot tell yet when its plugin starts; until then its entry of the agent before this one
// holds.
func NewHookTable(ctx context.Context, a *Node, run rundir.Dir, observes func(scheduler string) bool, log *slog.Logger) *HookTable {
	t := &HookTable{
		run: run, node: a.node, types: a.types, hooks: a.Hooks, log: log,
		edit:    func(h *rundir.Hooks) { observe(h, observes) },
		changed: func(h rundir.Hooks) { a.Agent.SetHookTable(h) },
	}
	t.begin(ctx)
	return t
}

// observe marks the phases of the schedulers whose jobs are only observed.
func observe(h *rundir.Hooks, observes func(scheduler string) bool) {
	h.Schedulers = slices.Clone(h.Schedulers)
	for i := range h.Schedulers {
		s := &h.Schedulers[i]
		s.Phases = slices.Clone(s.Phases)
		for k := range s.Phases {
			s.Phases[k].Observe = observes(s.Name)
		}
	}
}

// begin asks every adapter, without writing what it says.
func (t *HookTable) begin(ctx context.Context) {
	if before, err := t.run.Hooks(); err == nil {
		t.now = before
	}
	var err error
	t.now, err = t.ask(ctx)
	t.note(err)
}

// Hooks is what weft-hook must know now.
func (t *HookTable) Hooks() rundir.Hooks {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now
}

// Write writes it for the first time.
func (t *HookTable) Write() error { return t.run.WriteHooks(t.Hooks()) }

// Update asks every adapter again, and writes what is new.
func (t *HookTable) Update(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	h, err := t.ask(ctx)
	if !reflect.DeepEqual(h, t.now) {
		if fault := t.run.WriteHooks(h); fault != nil {
			t.note(fault)
			return fault
		}
		t.now = h
		if t.changed != nil {
			t.changed(h)
		}
	}
	t.note(err)
	return err
}

func (t *HookTable) ask(ctx context.Context) (rundir.Hooks, error) {
	h, err := agent.HookTable(ctx, t.node, t.types, t.hooks, t.now)
	if t.edit != nil {
		t.edit(&h)
	}
	return h, err
}

// note logs a fault once.
func (t *HookTable) note(err error) {
	fault := ""
	if err != nil {
		fault = err.Error()
	}
	if fault != "" && fault != t.fault {
		t.log.Warn("the phases of hooks are not known whole; weft-hook goes by what it knew before, where it knew any", core.LogError, err)
	}
	t.fault = fault
}

// Keep updates the table whenever a scheduler's plugin was started, which may then be another build.
func (t *HookTable) Keep(ctx context.Context, plugins *host.Host) {
	var seen map[string]int
	for ctx.Err() == nil {
		_ = plugins.Watch(ctx, func(states []host.Status) error {
			starts := map[string]int{}
			for _, s := range states {
				if s.Kind == host.Scheduler && s.State == host.Ready {
					starts[s.Name] = s.Starts
				}
			}
			if maps.Equal(starts, seen) {
				return nil
			}
			err := t.Update(ctx)
			if err == nil {
				seen = starts
			}
			return err
		})
		if !poll.Pause(ctx, askAgain) {
			return
		}
	}
}
