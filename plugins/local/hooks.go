package local

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/scheduler"
)

// The phases of `weft run`.
const (
	PhasePrepare     = "prepare"
	PhaseEnvironment = "environment"
	PhaseCleanUp     = "cleanup"
)

var phases = map[string]core.Action{PhasePrepare: core.Prepare, PhaseEnvironment: core.Environment, PhaseCleanUp: core.CleanUp}

// ExitFailed is the exit code of `weft run` when Weft itself failed and the command was not started, as env(1), nohup(1) and timeout(1) have it.
const ExitFailed = 125

// Call is the standard input of a local hook, as JSON. It comes from a user and decides nothing that the kernel can tell.
type Call struct {
	Job string  `json:"job"`           // NODE.N, as Table.Begin gave it
	UID *uint32 `json:"uid,omitempty"` // the owner; another than the caller for root only
}

// Answer is what a local hook prints, as JSON: what `weft run` puts into the command's environment.
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

// Parse reads what `weft run` wants. The note of a prepare is the Table's: a job that no Table holds, or that is another's, is refused.
func (p *Plugin) Parse(_ context.Context, call core.HookCall) (core.Intent, error) {
	action, ok := phases[call.Phase]
	if !ok {
		return core.Intent{}, core.Errorf(core.BadCall, "phase %q: there is no such phase of a local job", core.Clip(call.Phase)).
			WithRemedy("use " + strings.Join([]string{PhasePrepare, PhaseEnvironment, PhaseCleanUp}, ", "))
	}
	var c Call
	if len(call.Stdin) > core.MaxNote {
		return core.Intent{}, core.Errorf(core.BadCall, "%s: its input has %d bytes and there may be %d", call.Phase, len(call.Stdin), core.MaxNote)
	}
	if err := json.Unmarshal(call.Stdin, &c); err != nil {
		return core.Intent{}, core.Errorf(core.BadCall, "%s: its input: %w", call.Phase, err)
	}
	if _, _, err := splitJob(c.Job); err != nil {
		return core.Intent{}, err
	}
	ask := core.Intent{
		Action: action, Key: core.Key{JobID: core.JobID{Scheduler: call.Scheduler, Job: c.Job}}, UID: call.Peer.UID,
		Began: call.Began, Call: call.ID,
	}
	if c.UID != nil {
		ask.UID = *c.UID
	}
	e, held := p.find(c.Job)
	if held && (c.UID == nil || *c.UID == e.UID) && call.Peer.Root() {
		ask.UID = e.UID
	}
	switch {
	case ask.UID == core.NoUID:
		return core.Intent{}, core.Errorf(core.BadCall, "job %s: uid %d is nobody", c.Job, ask.UID)
	case !call.Peer.Root() && ask.UID != call.Peer.UID, held && ask.UID != e.UID:
		return core.Intent{}, core.Errorf(core.NotAllowed, "job %s: it is not uid %d's", c.Job, ask.UID)
	case action != core.Prepare || len(p.tables) == 0:
		return ask, nil
	case !held:
		return core.Intent{}, unknown(c.Job)
	}
	var err error
	ask.Note, err = e.Encode()
	return ask, err
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
	fmt.Fprintf(b, "weft: %s%s\n", what, strings.Join(strings.Fields(text), " "))
}
