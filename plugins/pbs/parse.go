package pbs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// eventVersion is what the hook file and this agree on.
const eventVersion = 1

// event is what the hook file tells, as JSON.
type event struct {
	Version   int               `json:"v"`
	Job       string            `json:"job"`
	Runs      *uint32           `json:"run_count"` // runjob: of the run before, null where there was none
	UID       *uint32           `json:"uid"`       // on the node; null where the node does not know the user
	User      string            `json:"user"`
	Group     string            `json:"group"`
	Queue     string            `json:"queue"`
	Account   string            `json:"account"`
	Submitted int64             `json:"submitted"`
	Vnodes    string            `json:"exec_vnode"`
	Wanted    map[string]string `json:"resources"` // by their whole names
	Jobs      []string          `json:"jobs"`      // exechost_periodic
	Room      bool              `json:"room"`      // runjob is among the events of the site's hooks
}

var actions = map[string]core.Action{
	PhaseBegin: core.Prepare, PhaseLaunch: core.Environment, PhaseEnd: core.CleanUp, PhaseAbort: core.CleanUp, PhaseStartup: core.Running,
	PhasePeriodic: core.Running, PhaseRun: core.Room, PhaseObit: core.CleanUp, PhaseQueue: core.Room, PhaseModify: core.Room,
}

// maxAlive bounds the jobs of one node.
const maxAlive = 4096

// Parse reads what the hook file tells of an event.
func (p *Plugin) Parse(_ context.Context, call core.HookCall) (core.Intent, error) {
	ask := core.Intent{Action: actions[call.Phase], Began: call.Began, Call: call.ID}
	if ask.Action == 0 {
		return ask, core.Errorf(core.BadCall, "phase %q: PBS has no such event that Weft takes part in", core.Clip(call.Phase)).
			WithRemedy("bring the hook file of this release: `weft init pbs`")
	}
	e, err := readEvent(call.Stdin)
	if err != nil {
		return ask, err
	}
	switch {
	case ask.Action == core.Running:
		return running(ask, call, e)
	case call.Phase == PhaseQueue || call.Phase == PhaseModify:
		return ask, e.check()
	}
	if err := checkJob(e.Job); err != nil {
		return ask, err
	}
	ask.Key = core.Key{JobID: core.JobID{Scheduler: call.Scheduler, Job: e.Job}}
	if e.UID != nil {
		ask.UID = *e.UID
	}
	switch call.Phase {
	case PhaseBegin:
		if e.UID == nil {
			return ask, core.Errorf(core.BadCall, "job %s: this node knows no user %q", e.Job, core.Clip(e.User)).WithRemedy("see whether the node's user database answers: `id " + core.Clip(e.User) + "`")
		}
		if e.Runs == nil || *e.Runs == 0 {
			return ask, core.Errorf(core.BadCall, "job %s: PBS does not say which run of it this is (run_count)", e.Job)
		}
		ask.Key.Generation = *e.Runs
		ask.Note, err = note{}.encode()
	case PhaseRun, PhaseObit:
		if e.Runs != nil {
			ask.Key.Generation = *e.Runs
		}
		if call.Phase == PhaseRun {
			ask.Key.Generation++
		}
		ask.Note, err = note{Facts: e.facts()}.encode()
	}
	return ask, err
}

func readEvent(text []byte) (event, error) {
	var e event
	if len(text) > maxEvent {
		return e, core.Errorf(core.BadCall, "event: it has %d bytes and there may be %d", len(text), maxEvent)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&e); err != nil {
		return e, core.Errorf(core.BadCall, "event: %w", err).WithRemedy("the hook must be run by PBS, from Weft's hook file")
	}
	if e.Version != eventVersion {
		return e, core.Errorf(core.BadVersion, "event: the hook file speaks version %d and this release %d", e.Version, eventVersion).WithRemedy("bring the hook file of this release: `weft init pbs`")
	}
	return e, nil
}

// check refuses what a user writes that no job may have. It looks at nothing else: a job that is being submitted has no
// id yet.
func (e event) check() error {
	if !readable(e.Account) {
		return unreadable("account")
	}
	_, err := parseWanted(e.facts().Wanted)
	return err
}

// readable reports whether qstat shows a text as it is.
func readable(text string) bool {
	odd := func(r rune) bool { return r == '^' || r < ' ' || r > '~' }
	return len(text) <= maxWord && !strings.ContainsFunc(text, odd)
}

// unreadable refuses what qstat does not show as it is.
func unreadable(what string) *core.Error {
	return core.Errorf(core.BadRequest, "%s: it cannot be read as qstat shows it", what).
		WithRemedy(fmt.Sprintf("submit it with another value, in ASCII without ^ and of at most %d bytes", maxWord))
}

func (e event) facts() *facts {
	f := &facts{User: e.User, Group: e.Group, Queue: e.Queue, Account: e.Account, Submitted: e.Submitted, Vnodes: e.Vnodes}
	for name, v := range e.Wanted {
		if key, ours := strings.CutPrefix(name, prefix); ours {
			if f.Wanted == nil {
				f.Wanted = map[string]string{}
			}
			f.Wanted[key] = v
		}
	}
	return f
}

// running is MOM's list of jobs. At her start she has none to tell: whether jobs of before go on is hers to decide (-p), so that list covers none.
func running(ask core.Intent, call core.HookCall, e event) (core.Intent, error) {
	if call.Phase == PhaseStartup {
		ask.Began = 0
		return ask, nil
	}
	if e.Jobs == nil || len(e.Jobs) > maxAlive {
		return ask, core.Errorf(core.BadCall, "%s: its list of jobs is missing or has more than %d", call.Phase, maxAlive)
	}
	slices.Sort(e.Jobs)
	for _, id := range slices.Compact(e.Jobs) {
		if err := checkJob(id); err != nil {
			return ask, err
		}
		ask.Alive = append(ask.Alive, core.Key{JobID: core.JobID{Scheduler: call.Scheduler, Job: id}})
	}
	return ask, nil
}
