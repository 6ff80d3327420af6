package flux

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// Exit codes of Weft's call in a scriptlet.
const (
	// ExitFailed fails the hook: Flux drains the node.
	ExitFailed = 1
	// ExitAgain is that Weft cannot now and may later, as sysexits.h has it (EX_TEMPFAIL): the prolog's scriptlet waits and tries again.
	ExitAgain = 75
)

// Render says what came of a hook in Flux's way. Only a failure of the node's own makes prolog or epilog fail, since Flux drains the node then. A job that
// cannot have what it asked for gets nothing, and its shell ends it.
func (p *Plugin) Render(_ context.Context, call core.HookCall, o core.Outcome) (core.HookReply, error) {
	if call.Phase == PhaseShell {
		return renderShell(o)
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
		switch class := o.Err.Scope(); {
		case class == core.ScopeNode:
			r.Exit = ExitFailed
		case class == core.ScopeSystem && call.Phase == PhaseProlog && o.Err.Reason != core.Cancelled:
			r.Exit = ExitAgain
		}
	}
	r.Stderr = errs.Bytes()
	return r, nil
}

// renderShell makes the lines that the shell plugin obeys: `unset NAME`, `export NAME=VALUE`, and `print TEXT` for what a user is to read.
func renderShell(o core.Outcome) (core.HookReply, error) {
	if o.Err != nil {
		var out bytes.Buffer
		say(&out, o.Err.Line(), "print ")
		return core.HookReply{Stdout: out.Bytes(), Exit: ExitFailed}, nil
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
