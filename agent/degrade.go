package agent

import (
	"slices"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
)

// auditDegrade is the event of a job that runs without isolation because its site has chosen so.
const auditDegrade = "degrade"

// unserved are the failures in which nobody can decide about a job, whoever it is: policy's on_failure is for them. Whatever else fails, fails: a scheduler that
// does not answer, a node's own fault, and above all a refusal.
var unserved = []core.Reason{core.ServerAway, core.StoreFailed, core.Recovering}

// degrade lets a job run without services that Weft cannot serve, where policy has on_failure = "degrade": its tasks have the variables unset, on this node and
// until the job is over here or is prepared after all. It reports whether it did.
func (a *Agent) degrade(call core.HookCall, ask core.Intent, out *core.Outcome) bool {
	switch {
	case ask.Action != core.Prepare || out.Err == nil || !slices.Contains(unserved, out.Err.Reason):
		return false
	case a.needs.Degrade == nil || !a.needs.Degrade() || a.needs.Rundir == "":
		return false
	case !call.Peer.Root() && (call.Peer.UID != ask.UID || !slices.Contains(a.needs.Machine.SelfService, ask.Key.Scheduler)):
		return false
	}
	select {
	case <-a.done: // it is this agent that is away: the next one may have a server
		return false
	default:
	}
	attrs := []any{core.LogJob, ask.Key.String(), core.LogUID, ask.UID, core.LogCall, call.ID, core.LogReason, string(out.Err.Reason), core.LogError, out.Err.What}
	err := a.needs.Rundir.RemoveEnviron(ask.Key.JobID) // of an earlier run; first, so that who is killed between the two leaves a job that fails, not one with old VNIs
	if err == nil {
		err = a.needs.Rundir.Exempt(ask.Key.JobID)
	}
	if err != nil {
		a.log.Warn(`on_failure = "degrade": the job cannot be let run without isolation, and fails`, append(attrs, core.LogWhy, err.Error())...)
		return false
	}
	a.audit.Warn(auditDegrade, append(attrs, core.LogWhy, `on_failure = "degrade": the job runs without isolation of its own`)...)
	a.meter.Degraded(ask.Key.Scheduler, out.Err.Reason)
	out.Warnings = append(out.Warnings, `the job runs without isolation, as on_failure = "degrade" of the policy has it: `+out.Err.What)
	out.Err, out.Environment = nil, node.Environment(node.Entry{})
	return true
}
