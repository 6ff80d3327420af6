package agent

import (
	"context"
	"slices"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook/rundir"
)

// warn leaves the job's warnings to its first task alone. A task calls where the job's file does not answer it.
func (a *Agent) warn(call core.HookCall, ask core.Intent, out *core.Outcome) {
	if ask.Action != core.Environment || len(out.Warnings) == 0 {
		return
	}
	_, phase, err := a.hookTable.Load().Find(call.Scheduler, call.Phase)
	env := func(name string) (string, bool) { value, set := call.Env[name]; return value, set }
	if err != nil || !phase.Leads(env, ask.Key.JobID) {
		out.Warnings = nil
		return
	}
	out.Environment = append(slices.Clip(out.Environment), core.Variable{Name: rundir.Warned, Value: ask.Key.Job})
}

// begin gives a step that prepared for itself what its tasks may use. That a prepare joined services is no proof that
// they are left: NICs may have restarted since.
func (a *Agent) begin(ctx context.Context, ask core.Intent, peer core.Peer, out *core.Outcome) {
	if !ask.Tells || out.Err != nil {
		return
	}
	ask.Action, ask.Key = core.Environment, out.Key
	now := a.Do(ctx, ask, peer)
	a.exception(ask, peer, &now)
	out.Environment, out.Err = now.Environment, now.Err
	out.StepWarnings = append(slices.Clip(out.StepWarnings), now.StepWarnings...)
}
