package local

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// The phases of `weft run`.
const (
	PhasePrepare     = "prepare"
	PhaseEnvironment = "environment"
	PhaseCleanUp     = "cleanup"
)

var phases = map[string]core.Action{PhasePrepare: core.Prepare, PhaseEnvironment: core.Environment, PhaseCleanUp: core.CleanUp}

// Call is the standard input of a local hook, as JSON. It comes from a user and decides nothing that the kernel can tell.
type Call struct {
	Job string  `json:"job"`           // NODE.N, as Table.Begin gave it
	UID *uint32 `json:"uid,omitempty"` // the owner; another than the caller for root only
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
