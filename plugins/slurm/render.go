package slurm

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// failed is what tells Slurm that a hook failed: of Prolog and Epilog it drains the node, of TaskProlog it ends the task.
const failed = 1

// Render says what came of a hook in Slurm's way. Only a failure of the node's own makes Prolog or Epilog fail; a job that cannot have what it asked for
// gets nothing, and each of its tasks is then ended by its TaskProlog.
func (p *Plugin) Render(_ context.Context, call core.HookCall, o core.Outcome) (core.HookReply, error) {
	if call.Phase == PhaseTaskProlog {
		return renderTask(o)
	}
	var errs bytes.Buffer
	for _, w := range o.Warnings {
		say(&errs, "warning: "+w)
	}
	if o.Pending {
		say(&errs, fmt.Sprintf("job %s: its services are still in use; the node goes on removing them", o.Key.Job))
	}
	r := core.HookReply{}
	if o.Err != nil {
		say(&errs, o.Err.Line())
		if o.Err.Scope() == core.ScopeNode {
			r.Exit = failed
		}
	}
	r.Stderr = errs.Bytes()
	return r, nil
}

// renderTask makes lines that slurmstepd obeys: `unset NAME` and `export NAME=VALUE` for the task's environment, `print TEXT` for its standard output, which
// is all of TaskProlog's that a user sees.
func renderTask(o core.Outcome) (core.HookReply, error) {
	if o.Err != nil {
		var out bytes.Buffer
		say(&out, o.Err.Line(), "print ")
		return core.HookReply{Stdout: out.Bytes(), Exit: failed}, nil
	}
	lines, err := core.Lines(o.Environment)
	if err != nil {
		return core.HookReply{}, core.Errorf(core.InternalFault, "job %s: %w", o.Key.Job, err)
	}
	return core.HookReply{Stdout: lines}, nil
}

// say writes a message as one line, behind what may stand before it.
func say(b *bytes.Buffer, text string, before ...string) {
	fmt.Fprintf(b, "%sweft: %s\n", strings.Join(before, ""), core.OneLine(text, "it failed"))
}
