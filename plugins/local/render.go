package local

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/scheduler"
)

// ExitFailed is the exit code of `weft run` when Weft itself failed and did not start the command. env(1), nohup(1) and
// timeout(1) use the same.
const ExitFailed = 125

// Answer is the output of a local hook, as JSON: the variables that `weft run` sets and unsets for its command.
type Answer struct {
	Job   string     `json:"job"`
	Unset []string   `json:"unset,omitempty"`
	Set   []Variable `json:"set,omitempty"`
}

// Variable is one to set.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Render answers `weft run`: an Answer on standard output, warnings and an error as lines on standard error.
func (p *Plugin) Render(_ context.Context, _ core.HookCall, o core.Outcome) (core.HookReply, error) {
	var errs bytes.Buffer
	for _, w := range o.Warnings {
		line(&errs, "warning: ", w)
	}
	if o.Err != nil {
		line(&errs, "", o.Err.Line())
		return core.HookReply{Stderr: errs.Bytes(), Exit: ExitFailed}, nil
	}
	if o.Pending {
		line(&errs, "warning: ", scheduler.Pending(o))
	}
	a := Answer{Job: o.Key.Job}
	for _, v := range o.Environment {
		if v.Unset {
			a.Unset = append(a.Unset, v.Name)
		} else {
			a.Set = append(a.Set, Variable{v.Name, v.Value})
		}
	}
	out, err := json.Marshal(a)
	if err != nil {
		return core.HookReply{}, core.Errorf(core.InternalFault, "job %s: its answer: %w", o.Key.Job, err)
	}
	return core.HookReply{Stdout: append(out, '\n'), Stderr: errs.Bytes()}, nil
}

// line writes a message as one line.
func line(b *bytes.Buffer, what, text string) {
	fmt.Fprintf(b, "weft: %s%s\n", what, core.Flat(text))
}
