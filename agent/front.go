package agent

import (
	"context"
	"maps"
	"slices"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/hook/rundir"
)

// Front is what weft-hook must know of a node's adapters: their phases, and what each says while Weft is bypassed. types has the type of each label. An
// adapter that is not core.Phased is left out: no hook of a scheduler calls for it.
func Front(ctx context.Context, name string, types map[string]string, adapters map[string]core.Hooks) (rundir.Hooks, error) {
	out := rundir.Hooks{Node: name}
	for _, label := range slices.Sorted(maps.Keys(adapters)) {
		adapter := adapters[label]
		phased, ok := adapter.(core.Phased)
		if !ok {
			continue
		}
		phases, err := phased.Phases(ctx)
		if err != nil {
			return rundir.Hooks{}, core.Errorf(core.AsError(err).Reason, "scheduler %s: the phases of its hooks: %w", label, err)
		}
		s := rundir.Scheduler{Name: label, Type: types[label]}
		for _, p := range phases {
			call := core.HookCall{Scheduler: label, Phase: p.Name, Node: name}
			by := core.Outcome{Action: p.Action} // of no job
			if p.Action == core.Prepare || p.Action == core.Environment {
				by.Environment = node.Environment(node.Entry{})
			}
			reply, err := adapter.Render(ctx, call, by)
			if err != nil {
				return rundir.Hooks{}, core.Errorf(core.AsError(err).Reason, "scheduler %s: phase %s: what it says while Weft is bypassed: %w", label, p.Name, err)
			}
			s.Phases = append(s.Phases, rundir.Phase{HookPhase: p, Bypass: reply})
		}
		out.Schedulers = append(out.Schedulers, s)
	}
	_, err := out.Encode()
	return out, err
}

// exempted reports whether root's list lets tasks of a job run although this node holds nothing for it.
func (a *Agent) exempted(job core.JobID) bool {
	return a.needs.Rundir != "" && a.needs.Rundir.Exempted(job)
}

// unexempt ends that: the job was prepared, or is over.
func (a *Agent) unexempt(job core.JobID) {
	if a.needs.Rundir == "" {
		return
	}
	if err := a.needs.Rundir.Unexempt(job); err != nil {
		a.log.Warn("the job stays exempt: its tasks would run without a record", core.LogJob, job.String(), core.LogError, err)
	}
}
