package server

import (
	"context"

	"github.com/weft-hpc/weft/core"
)

// leading is a scheduler that one of several servers calls only while it leads. A server that was paused could undo the
// word of the next one: a scheduler, unlike a node, knows no epoch.
type leading struct {
	core.SchedulerClient
	leads func() bool
}

func (l leading) Call(ctx context.Context, c core.SchedulerCall) (core.SchedulerReply, error) {
	if !l.leads() {
		name := core.Clip(c.Scheduler)
		return core.SchedulerReply{}, core.Errorf(core.ServerAway, "scheduler %s: this server leads no longer", name)
	}
	return l.SchedulerClient.Call(ctx, c)
}
