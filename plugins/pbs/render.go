package pbs

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/scheduler"
)

// What the hook file is told to do.
const (
	doAccept  = "accept"
	doReject  = "reject"  // say why; a job that begins goes back into the queue
	doDelete  = "delete"  // the job, and say why
	doOffline = "offline" // this node's vnodes, with what is said as their comment; what can be rejected is
)

// answer is what the hook file is told, as JSON on weft-hook's standard output.
type answer struct {
	Version int               `json:"v"`
	Do      string            `json:"do"`
	Say     string            `json:"say,omitempty"`
	Log     []string          `json:"log,omitempty"` // for the daemon's log
	Unset   []string          `json:"unset,omitempty"`
	Set     map[string]string `json:"set,omitempty"` // as they are: commas are escaped by who knows PBS's lists
}

// exitRefused is weft-hook's exit code where a task must not run.
const exitRefused = 1

// Render says what came of an event. The hook file does what it is told, and looks at weft-hook's exit code only where nothing was said: pbs_server takes
// the codes of its children away. A task that is refused fails both ways, so that no other caller takes the refusal for an environment without variables.
func (p *Plugin) Render(_ context.Context, call core.HookCall, o core.Outcome) (core.HookReply, error) {
	a, exit := answer{Version: eventVersion, Do: doAccept}, 0
	for _, w := range o.Warnings {
		a.Log = append(a.Log, core.OneLine(w, "a warning without words"))
	}
	if o.Pending {
		a.Log = append(a.Log, scheduler.Pending(o))
	}
	if o.Err != nil {
		a.Do, a.Say = verdict(call, o.Err), "weft: "+core.OneLine(o.Err.Line(), "it failed")
		if call.Phase == PhaseLaunch {
			exit = exitRefused
		}
	} else if call.Phase == PhaseLaunch {
		if err := a.environment(o); err != nil {
			return core.HookReply{}, err
		}
	}
	text, err := json.Marshal(a)
	if err != nil {
		return core.HookReply{}, core.Errorf(core.InternalFault, "job %s: its answer: %w", o.Key.Job, err)
	}
	return core.HookReply{Stdout: append(text, '\n'), Exit: exit}, nil
}

// verdict is what a failure means in an event. Only a fault of the node's own takes it out of service, and only what its user can mend deletes a job: one that
// is over already, or is not placed where it begins, is no fault of its user's.
func verdict(call core.HookCall, err *core.Error) string {
	switch call.Phase {
	case PhaseRun, PhaseLaunch:
		return doReject
	case PhaseQueue, PhaseModify:
		if err.Reason == core.BadRequest {
			return doReject
		}
	case PhaseBegin:
		switch {
		case err.Scope() == core.ScopeNode:
			return doOffline
		case err.Scope() != core.ScopeJob, err.Reason == core.JobEnded, err.Reason == core.NotPlaced, err.Reason == core.JobUnknown:
			return doReject
		case slices.Contains(servers, err.Reason) && asksRoom(call.Stdin):
			return doReject // runjob knows, and says it where it stays
		}
		return doDelete
	case PhaseEnd, PhaseAbort:
		if err.Scope() == core.ScopeNode {
			return doOffline
		}
	}
	return doAccept
}

// servers are the failures of a job that the Weft server itself found, so that it can say them again when runjob asks.
var servers = []core.Reason{core.PolicyDenied, core.PolicyFault, core.BadRequest, core.OverQuota}

// asksRoom reports whether the site's hooks ask Weft before a job starts.
func asksRoom(text []byte) bool {
	e, err := readEvent(text)
	return err == nil && e.Room
}

// environment is what a task is told.
func (a *answer) environment(o core.Outcome) error {
	a.Set = map[string]string{}
	for _, v := range o.Environment {
		if !variable(v) {
			return core.Errorf(core.InternalFault, "job %s: variable %q cannot be told to a task", o.Key.Job, core.Clip(v.Name))
		}
		if v.Unset {
			a.Unset = append(a.Unset, v.Name)
		} else {
			a.Set[v.Name] = v.Value
		}
	}
	return nil
}

// variable reports whether v can stand in PBS's list of variables, in which a backslash escapes what follows it.
func variable(v core.Variable) bool { return v.OneLine() && !strings.Contains(v.Value, `\`) }
