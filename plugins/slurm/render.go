package slurm

import (
	"context"
	"slices"

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
	if call.Phase == PhaseStep {
		return stepLines(call, o)
	}
	r := core.HookReply{Stderr: scheduler.Report(o)}
	if o.Err != nil && o.Err.Scope() == core.ScopeNode {
		r.Exit = failed
	}
	return r, nil
}

// stepLines are for spank/weft.c, which obeys `export`, `unset` and `print` as slurmstepd obeys those of TaskProlog, and
// lets no task start after `fail`. The job's first task alone prints warnings.
func stepLines(call core.HookCall, o core.Outcome) (core.HookReply, error) {
	if o.Err != nil {
		return core.HookReply{Stdout: []byte("fail " + core.OneLine(o.Err.Line(), "it failed") + "\n")}, nil
	}
	id := step(call.Env[envStep])
	first := id == "" || id == "0" && call.Env[envNode] == "0"
	switch {
	case !first || call.Env[envWarned] == call.Env[envJob]:
		o.Warnings = nil
	case len(o.Warnings) > 0:
		told := core.Variable{Name: envWarned, Value: call.Env[envJob]}
		o.Environment = append(slices.Clip(o.Environment), told)
	}
	if call.Env[envNode] == "0" {
		o.Warnings = slices.Concat(o.Warnings, o.StepWarnings)
	}
	return scheduler.Environment(o, failed)
}
