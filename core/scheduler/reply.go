package scheduler

import (
	"fmt"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// Report is the text of an outcome for the log of a hook: its warnings, services that remain, and its error, one line
// each.
func Report(o core.Outcome) []byte {
	var out strings.Builder
	for _, w := range o.Warnings {
		out.WriteString(line("warning: " + w))
	}
	if o.Pending {
		out.WriteString(line(Pending(o)))
	}
	if o.Err != nil {
		out.WriteString(line(o.Err.Line()))
	}
	return []byte(out.String())
}

// Pending says that services of the outcome's job remain.
func Pending(o core.Outcome) string {
	return fmt.Sprintf("job %s: its services are still in use; the node goes on removing them", o.Key.Job)
}

// Environment is the reply to a hook whose caller obeys its output: `unset NAME` and `export NAME=VALUE` for the
// environment of a task, and `print TEXT` for each warning. After a failure the reply has the exit code failed and
// `print TEXT` for the user.
func Environment(o core.Outcome, failed int) (core.HookReply, error) {
	if o.Err != nil {
		return core.HookReply{Stdout: []byte("print " + line(o.Err.Line())), Exit: failed}, nil
	}
	lines, err := core.Lines(o.Environment)
	if err != nil {
		return core.HookReply{}, core.Errorf(core.InternalFault, "job %s: %w", o.Key.Job, err)
	}
	for _, w := range o.Warnings {
		lines = append(lines, "print "+line("warning: "+w)...)
	}
	if len(o.Warnings) > 0 {
		lines = append(lines, "print "+line("`weft job "+o.Key.Job+"` shows all nodes of the job")...)
	}
	return core.HookReply{Stdout: lines}, nil
}

func line(text string) string { return "weft: " + core.OneLine(text, "it failed") + "\n" }
