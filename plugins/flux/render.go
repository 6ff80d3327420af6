package flux

import (
	"context"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/scheduler"
)

// Exit codes of Weft's call in a scriptlet.
const (
	// ExitFailed fails the hook: Flux drains the node.
	ExitFailed = 1
	// ExitAgain is that Weft cannot now and may later, as sysexits.h has it (EX_TEMPFAIL): the prolog's scriptlet waits and tries again.
	ExitAgain = 75
)

// leave tells the shell plugin that Weft only observes the job: its environment stays as it is.
const leave = "leave\n"

// Render says what came of a hook in Flux's way. Only a failure of the node's own makes prolog or epilog fail, since Flux drains the node then. A job that
// cannot have what it asked for gets nothing, and its shell ends it.
func (p *Plugin) Render(_ context.Context, call core.HookCall, o core.Outcome) (core.HookReply, error) {
	if call.Phase == PhaseShell && o.Err == nil && len(o.Environment)+len(o.Warnings) == 0 {
		return core.HookReply{Stdout: []byte(leave)}, nil // a shell without a word must not start
	}
	if call.Phase == PhaseShell {
		return scheduler.Environment(o, ExitFailed) // the shell plugin obeys its lines
	}
	r := core.HookReply{Stderr: scheduler.Report(o)}
	if o.Err != nil {
		switch class := o.Err.Scope(); {
		case class == core.ScopeNode:
			r.Exit = ExitFailed
		case class == core.ScopeSystem && call.Phase == PhaseProlog && o.Err.Reason != core.Cancelled:
			// Flux takes the standard error of its hooks for errors, and their output for information.
			r.Exit, r.Stdout, r.Stderr = ExitAgain, r.Stderr, nil
		}
	}
	return r, nil
}
