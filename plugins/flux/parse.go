package flux

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
)

var actions = map[string]core.Action{
	PhaseProlog: core.Prepare, PhaseShell: core.Environment, PhaseEpilog: core.CleanUp,
}

// Parse reads a hook's variables.
func (p *Plugin) Parse(ctx context.Context, call core.HookCall) (core.Intent, error) {
	ask := core.Intent{Action: actions[call.Phase], Began: call.Began, Call: call.ID}
	if ask.Action == 0 {
		return ask, core.Errorf(core.BadCall, "phase %q: Flux has no such hook that Weft takes part in", core.Clip(call.Phase)).
			WithRemedy("use " + strings.Join([]string{PhaseProlog, PhaseShell, PhaseEpilog}, ", "))
	}
	id, err := parseID(call.Env[envJob])
	if err != nil {
		return ask, err
	}
	ask.Key = core.Key{JobID: core.JobID{Scheduler: call.Scheduler, Job: formatID(id)}}
	if ask.Action == core.Environment {
		ask.UID = call.Peer.UID
		if path := call.Env[envPath]; path != "" {
			ask.Step, err = parsePath(path)
		}
		return ask, err
	}
	uid, err := strconv.ParseUint(call.Env[envUser], 10, 32)
	if err != nil {
		return ask, core.Errorf(core.BadCall, "job %s: %s is %q, which is no uid", ask.Key.Job, envUser, core.Clip(call.Env[envUser])).WithRemedy("run the hook by Flux, which sets it")
	}
	ask.UID = uint32(uid)
	ask.Speaks = ask.Action == core.Prepare && p.leads(ctx, call.Env[envSet])
	return ask, nil
}

// brief bounds the question for this broker's rank.
const brief = time.Second

// leads reports whether this node is the first of a set of ranks.
func (p *Plugin) leads(ctx context.Context, ranks string) bool {
	ctx, cancel := context.WithTimeout(ctx, brief)
	defer cancel()
	set, err := parseIDs(ranks)
	if err != nil {
		return false
	}
	rank, err := p.attribute(ctx, "rank")
	return err == nil && rank == strconv.Itoa(set[0].low)
}
