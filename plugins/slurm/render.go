package slurm

import (
	"context"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/scheduler"
)

// failed is what tells Slurm that a hook failed: of Prolog and Epilog it drains the node, of TaskProlog it ends the task.
const failed = 1

// Render says what came of a hook in Slurm's way. Only a failure of the node's own makes Prolog or Epilog fail; a job that cannot have what it asked for
// gets nothing, and each of its tasks is then ended by its TaskProlog.
func (p *Plugin) Render(_ context.Context, call core.HookCall, o core.Outcome) (core.HookReply, error) {
	if call.Phase == PhaseTaskProlog {
		return scheduler.Environment(o, failed) // slurmstepd obeys its lines; `print` is all of TaskProlog's that a user sees
	}
	r := core.HookReply{Stderr: scheduler.Report(o)}
	if o.Err != nil && o.Err.Scope() == core.ScopeNode {
		r.Exit = failed
	}
	return r, nil
}
