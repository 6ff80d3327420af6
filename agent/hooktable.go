package agent

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/hook/rundir"
)

// HookTable is what weft-hook must know of a node's adapters: their phases, and what each says while Weft is bypassed. types has the type of each label. An
// adapter that is not core.Phased, or says that it is not, is left out: no hook of a scheduler calls for it. One that cannot tell now keeps its
// entry of before; the error names each, and the rest can be used all the same.
func HookTable(ctx context.Context, name string, types map[string]string, adapters map[string]core.Hooks, before rundir.Hooks) (rundir.Hooks, error) {
	out := rundir.Hooks{Node: name}
	var untold []error
	for _, label := range slices.Sorted(maps.Keys(adapters)) {
		s, phased, err := hooksOf(ctx, name, label, adapters[label])
		s.Type = types[label]
		if err == nil && phased {
			_, err = rundir.Hooks{Node: name, Schedulers: []rundir.Scheduler{s}}.Encode()
		}
		if err != nil {
			untold = append(untold, err)
			i := slices.IndexFunc(before.Schedulers, func(b rundir.Scheduler) bool { return b.Name == label && b.Type == types[label] })
			if phased = i >= 0; phased {
				s = before.Schedulers[i]
			}
		}
		if phased {
			out.Schedulers = append(out.Schedulers, s)
		}
	}
	if _, err := out.Encode(); err != nil {
		before.Node = name
		return before, err
	}
	return out, errors.Join(untold...)
}

// hooksOf is HookTable of one adapter; phased is false where no hook calls for it.
func hooksOf(ctx context.Context, name, label string, adapter core.Hooks) (s rundir.Scheduler, phased bool, err error) {
	s.Name = label
	teller, phased := adapter.(core.Phased)
	if !phased {
		return s, false, nil
	}
	phases, err := teller.Phases(ctx)
	if errors.Is(err, core.Unsupported) {
		return s, false, nil
	}
	if err != nil {
		return s, true, core.Errorf(core.AsError(err).Reason, "scheduler %s: the phases of its hooks: %w", label, err)
	}
	for _, p := range phases {
		call := core.HookCall{Scheduler: label, Phase: p.Name, Node: name}
		by := core.Outcome{Action: p.Action} // of no job
		if p.Action == core.Prepare || p.Action == core.Environment {
			by.Environment = node.Environment(node.Entry{})
		}
		reply, err := adapter.Render(ctx, call, by)
		if err != nil {
			return s, true, core.Errorf(core.AsError(err).Reason, "scheduler %s: phase %s: what it says while Weft is bypassed: %w", label, p.Name, err)
		}
		leave, err := adapter.Render(ctx, call, core.Outcome{Action: p.Action})
		if err != nil {
			return s, true, core.Errorf(core.AsError(err).Reason, "scheduler %s: phase %s: what it says of a job that is only observed: %w", label, p.Name, err)
		}
		s.Phases = append(s.Phases, rundir.Phase{HookPhase: p, Bypass: reply, Leave: leave})
	}
	return s, true, nil
}

// SetHookTable says what weft-hook is told from now on, instead of Needs.HookTable: an adapter was started again, and may have other phases.
func (a *Agent) SetHookTable(h rundir.Hooks) { a.hookTable.Store(&h) }
