package agent

import (
	"context"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
)

// Mode says which jobs of a scheduler are served on a node.
type Mode uint8

// The modes. The server knows which jobs of a scheduler are served where only some are.
const (
	ServesAll Mode = iota
	ServesSome
	ServesNone
)

// How long a prepare of a scheduler that is only observed waits for the server, with a session and without one. The
// server knows whether the job began when jobs were served.
const (
	observedWait = time.Second
	observedAway = 50 * time.Millisecond
)

// observes reports whether no job of the scheduler that has this node is served.
func (a *Agent) observes(scheduler string) bool {
	return a.mode(scheduler) == ServesNone
}

func (a *Agent) mode(scheduler string) Mode {
	if a.needs.Mode == nil {
		return ServesAll
	}
	return a.needs.Mode(scheduler)
}

// doObserved is Do, in bounded time where the job's scheduler is only observed.
func (a *Agent) doObserved(ctx context.Context, ask core.Intent, peer core.Peer, keeper node.Keeper) core.Outcome {
	if ask.Action == core.Prepare && a.observes(ask.Key.Scheduler) {
		limit := observedAway
		if a.outage.connected() {
			limit = observedWait
		}
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	return a.do(ctx, ask, peer, keeper)
}

// left reports whether Weft leaves a job as it is, and remembers that for as long as the job runs here.
// A job ends as it began, observed or served.
func (a *Agent) left(ask core.Intent, peer core.Peer, err *core.Error) bool {
	job, observes := ask.Key.JobID, a.observes(ask.Key.Scheduler)
	switch {
	case ask.Action == core.Prepare && err != nil && (observes || err.Reason == core.Observed):
		a.noteObserved(job, peer)
		return true
	case ask.Action == core.Environment && err != nil && a.notedObserved(job):
		return true
	case ask.Action == core.Environment && err != nil:
		return observes && err.Reason == core.NoRecord
	case ask.Action == core.Environment, ask.Action == core.Prepare:
		return false
	case observes && ask.Action == core.CleanUp && peer.Root():
		a.unexempt(job)
	}
	return observes
}

func (a *Agent) notedObserved(job core.JobID) bool {
	return a.needs.Rundir != "" && a.needs.Rundir.Observed(job)
}

func (a *Agent) noteObserved(job core.JobID, peer core.Peer) {
	if a.needs.Rundir == "" || !peer.Root() || core.CheckJobID(job.Job) != nil {
		return
	}
	if err := a.needs.Rundir.Observe(job); err != nil {
		a.log.Warn("that the job is only observed cannot be kept: if jobs are served before it ends, its next tasks fail",
			core.LogJob, job.String(), core.LogError, err)
	}
}
