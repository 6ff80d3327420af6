package agent

import (
	"context"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
)

// telling is how long of the time that a hook has left is kept back from waiting for the server, for telling the scheduler: at most limits.Tell, and never more
// than a quarter.
func (a *Agent) telling(ask core.Intent, left time.Duration) time.Duration {
	if r := a.needs.Requeuers[ask.Key.Scheduler]; !ask.Speaks || r == nil || !r.Has(core.CallRequeue) {
		return 0
	}
	return min(a.limits.Tell, left/4)
}

// unable are the failures of which the server tells no scheduler: it is away, its store takes nothing and so it acts on nothing, or it refuses before it looks
// whose job it is: it was started a moment ago and this node has not reported yet, it waits for the nodes' word after a store was lost, or too many wait.
var unable = []core.Reason{core.ServerAway, core.StoreFailed, core.Overloaded, core.NodeAway, core.Recovering}

// requeue puts a job back into its queue that was refused because the server cannot serve: nobody else can. It comes before the hook's reply: once the hook
// returns the job's tasks start and fail, and a job that is over cannot be put back. A scheduler that was told already is told once more, of the same run.
func (a *Agent) requeue(ctx context.Context, ask core.Intent, peer core.Peer, err *core.Error) {
	r := a.needs.Requeuers[ask.Key.Scheduler]
	if r == nil || err == nil || !slices.Contains(unable, err.Reason) || ask.Action != core.Prepare || !ask.Speaks || !peer.Root() {
		return
	}
	untold := a.callAbout(ctx, r, core.SchedulerCall{Verb: core.CallRequeue, Key: ask.Key, Reason: err.Line()})
	switch failure := core.AsError(untold); {
	case failure == nil:
		a.log.Info("the server cannot serve: the scheduler was told, so that the job waits, goes back into the queue, or ends if it cannot come back",
			core.LogJob, ask.Key.String(), core.LogCall, ask.Call, core.LogReason, string(err.Reason))
	case failure.Code != core.Unsupported:
		a.log.Warn("the server cannot serve, and the scheduler could not be told: the job's tasks fail", core.LogJob, ask.Key.String(), core.LogCall, ask.Call, core.LogError, failure)
	}
}

// blame shows in the scheduler's record of a job that this node is at fault, before the prepare fails: else its user
// reads that a hook failed, and not why.
func (a *Agent) blame(ctx context.Context, ask core.Intent, peer core.Peer, err *core.Error) {
	s := a.needs.Requeuers[ask.Key.Scheduler]
	if s == nil || err == nil || err.Scope() != core.ScopeNode || ask.Action != core.Prepare || !peer.Root() ||
		!s.Has(core.CallBlame) {
		return
	}
	call := core.SchedulerCall{Verb: core.CallBlame, Key: ask.Key, Node: a.needs.Node, Reason: err.Line()}
	if failure := core.AsError(a.callAbout(ctx, s, call)); failure != nil && failure.Code != core.Unsupported {
		a.log.Warn("the scheduler's record of the job does not say that this node is at fault",
			core.LogJob, ask.Key.String(), core.LogCall, ask.Call, core.LogError, failure)
	}
}

// callAbout calls a scheduler about a job in the time that its hook has left.
func (a *Agent) callAbout(ctx context.Context, s core.SchedulerClient, call core.SchedulerCall) error {
	limit := a.limits.Tell
	if d, ok := ctx.Deadline(); ok { // many are told at once when a server is away, and each must have its answer all the same
		left := time.Until(d)
		limit = min(limit, left-min(left/4, speaking))
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	call.Scheduler = call.Key.Scheduler
	_, err := s.Call(ctx, call)
	return err
}
