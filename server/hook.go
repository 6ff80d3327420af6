package server

import (
	"context"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// Hook answers a hook that runs beside the server, in the scheduler's own server: whether there is room for a job that is about to start, and that a run is over.
// hooks is the adapter's translating half.
func (s *Server) Hook(ctx context.Context, hooks core.Hooks, sizes map[string]int, call core.HookCall) (core.HookReply, error) {
	ask, err := hooks.Parse(ctx, call)
	out := core.Outcome{Action: ask.Action, Key: ask.Key}
	if err == nil {
		ask.Call = call.ID
		err = s.heed(ctx, ask, sizes, call.Peer)
	}
	out.Err = core.AsError(err)
	return hooks.Render(ctx, call, out)
}

func (s *Server) heed(ctx context.Context, ask core.Intent, sizes map[string]int, peer core.Peer) error {
	if !peer.Root() {
		return core.Errorf(core.NotAllowed, "hook: uid %d is no scheduler", peer.UID)
	}
	if ask.Action == core.Room && ask.Key == (core.Key{}) { // of no job yet: Parse has read all that there is
		return nil
	}
	sched := s.needs.Schedulers[ask.Key.Scheduler]
	if sched == nil {
		return core.Errorf(core.SchedulerAway, "scheduler %s: this server has no adapter for it", core.Clip(ask.Key.Scheduler))
	}
	switch ask.Action {
	case core.Room:
		return s.room(ctx, sched, ask, sizes, peer)
	case core.CleanUp:
		if err := s.standby("hook"); err != nil {
			return err
		}
		job, err := core.Describe(ctx, sched, ask.Key, ask.Note, peer)
		if err != nil {
			return err
		}
		over := core.Jobs{Jobs: []core.JobStatus{{Run: job.Run, State: core.JobFinal}}}
		return s.insist(ctx, work{in: engine.Answer{Scheduler: ask.Key.Scheduler, Began: s.now().Uptime, Jobs: over}})
	case core.Prepare, core.Environment, core.StepEnd, core.Running:
	}
	return core.Errorf(core.NotSupported, "hook %v: %v: a server answers none such", ask.Action, ask.Key).WithRemedy("run the hook with the run directory of the node's agent")
}
