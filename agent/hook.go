package agent

import (
	"context"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/hook/rundir"
)

// Hook answers one call of a scheduler's hook. Every failure is rendered by the adapter, so that it means in its scheduler what its class says.
func (a *Agent) Hook(ctx context.Context, call core.HookCall) (core.HookReply, error) {
	if label, _, err := a.hookTable.Load().Find(call.Scheduler, call.Phase); err == nil {
		call.Scheduler = label // who asks without weft-hook may name it by its type, too
	}
	h := a.needs.Hooks[call.Scheduler]
	if h == nil {
		return core.HookReply{}, core.Errorf(core.BadCall, "scheduler %q: config.hcl of node %s declares none of that name", core.Clip(call.Scheduler), a.needs.Node)
	}
	call.Node = a.needs.Node
	began := time.Now()
	ask, err := twice(ctx, func() (core.Intent, error) { return h.Parse(ctx, call) })
	if ask.Action == core.Running {
		ask.Key = core.Key{JobID: core.JobID{Scheduler: call.Scheduler}} // a list names no job, and is its scheduler's own
	}
	out := core.Outcome{Action: ask.Action, Key: ask.Key}
	bypassed := false
	leaves := false // the job as it is
	switch {
	case err != nil && (a.observes(call.Scheduler) || ask.Step != "" && a.exempted(ask.Key.JobID)):
		leaves = true // the job has no network that a step's wish could narrow
	case err != nil:
		out.Err = core.AsError(err)
	default:
		ask.Call = call.ID // one id from weft-hook to the driver, whatever the adapter made of it
		keeper := a.keeper(call, ask)
		out = a.doObserved(ctx, ask, call.Peer, keeper)
		a.hold(keeper)
		if err := a.leaving(out.Err); err != nil {
			return core.HookReply{}, err
		}
		if leaves = a.left(ask, call.Peer, out.Err); leaves {
			break
		}
		failed := out.Err != nil
		a.exception(ask, call.Peer, &out)
		bypassed = failed && out.Err == nil
		if !a.works(ctx, ask, out.Err) {
			a.degrade(call, ask, &out)
			a.requeue(ctx, ask, call.Peer, out.Err)
			a.blame(ctx, ask, call.Peer, out.Err)
		}
		a.begin(ctx, ask, call.Peer, &out)
		a.warn(call, ask, &out)
	}
	if leaves {
		out = core.Outcome{Action: ask.Action, Key: ask.Key}
	}
	if ask.Action == core.Running {
		out.Key = core.Key{}
	}
	reply, failure := twice(ctx, func() (core.HookReply, error) { return h.Render(ctx, call, out) })
	a.auditHook(call, ask, out, bypassed)
	phase := call.Phase
	if ask.Action == 0 {
		phase = ""
	}
	why := failure
	if out.Err != nil {
		why = out.Err
	}
	a.meter.Hooked(call.Scheduler, phase, core.ReasonOf(why), time.Since(began))
	return reply, failure
}

// leaving is err where the agent stops before a call is over. No adapter may word it: weft-hook makes the call again at
// the next agent, which an upgrade starts at once, while a scheduler drains a node for a hook that fails.
func (a *Agent) leaving(err *core.Error) error {
	select {
	case <-a.done:
		if err != nil && err.Reason == core.ServerAway {
			return err
		}
	default:
	}
	return nil
}

// speaking is how long of a hook's time is kept back at most for its answer: the adapter's words and the way to weft-hook. A hook that ends without it has
// failed, and drains its node where a refusal would not.
const speaking = 500 * time.Millisecond

// spoken is speaking for a hook that has so long left.
func spoken(left time.Duration) time.Duration { return min(left/16, speaking) }

// quick is how soon an adapter's half has failed that was not waited for: a call to a plugin that is down waits for it already.
const quick = time.Second

// twice asks an adapter again that gave no answer, most often because its process died over the question: by then another is being started. It only translates,
// so that to ask again does nothing, and a hook that failed for it would drain its node.
func twice[T any](ctx context.Context, f func() (T, error)) (T, error) {
	began := time.Now()
	out, err := f()
	if e := core.AsError(err); e == nil || e.Code != core.Unavailable || ctx.Err() != nil || time.Since(began) > quick {
		return out, err
	}
	return f()
}

// exception lets tasks of an exempt job run without a record, and ends the exemption with the job, or when a prepare of it is refused.
func (a *Agent) exception(ask core.Intent, peer core.Peer, out *core.Outcome) {
	job := ask.Key.JobID
	switch {
	case ask.Action == core.CleanUp && out.Err == nil && peer.Root():
		a.unexempt(job)
	case ask.Action == core.Prepare && out.Err != nil && out.Err.Scope() == core.ScopeJob && peer.Root(): // refused for good: its tasks must fail
		a.unexempt(job)
	case ask.Action == core.Environment && out.Err != nil && (out.Err.Reason == core.NoRecord || slices.Contains(unserved, out.Err.Reason)) && a.exempted(job):
		out.Err, out.Environment = nil, node.Environment(node.Entry{})
	}
}

// Do takes an Ask to the machine, which decides who may ask for what, and waits for its outcome.
func (a *Agent) Do(ctx context.Context, ask core.Intent, peer core.Peer) core.Outcome {
	return a.do(ctx, ask, peer, node.Keeper{})
}

func (a *Agent) do(ctx context.Context, ask core.Intent, peer core.Peer, keeper node.Keeper) core.Outcome {
	refuse := func(e *core.Error) core.Outcome { return core.Outcome{Action: ask.Action, Key: ask.Key, Err: e} }
	if err := core.CheckJobID(ask.Key.Job); err != nil && ask.Action != core.Running {
		return refuse(core.AsError(err))
	}
	ask.Boot = a.needs.Boot
	until := a.now().Uptime + a.limits.Hook
	if d, ok := ctx.Deadline(); ok {
		left := time.Until(d)
		until = a.now().Uptime + left - spoken(left)
	}
	done := make(chan core.Outcome, 1)
	a.mu.Lock()
	a.serial++
	id := a.serial
	a.calls[id] = done
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		delete(a.calls, id)
		a.mu.Unlock()
	}()
	h := node.Hook{Call: id, Ask: ask, Peer: peer, Until: until, Keeper: keeper}
	if ask.Action == core.Environment {
		var signs []core.Sign
		if err := a.Look(ctx, func(m *node.Machine) { signs = m.Signs() }); err != nil {
			return refuse(core.AsError(err))
		}
		h.Doubt = !rundir.Hold(signs)
	}
	w := work{in: h}
	if ask.Action == core.Prepare && a.needs.Rundir != "" {
		w = work{look: func(m *node.Machine) node.Input {
			if m == nil { // whoever waits has been told
				return nil
			}
			return a.prepare(h)
		}}
	}
	err := a.insist(ctx, w)
	if err != nil {
		return refuse(core.AsError(err))
	}
	select {
	case out := <-done:
		out.Action = ask.Action
		if ask.Key.Generation != core.AnyGeneration || out.Err != nil {
			out.Key = ask.Key
		}
		if ask.Action == core.Prepare && out.Err == nil {
			a.published(ctx, out.Key.JobID)
		}
		return out
	case <-a.done:
		return refuse(core.Errorf(core.ServerAway, "agent of %s: it is stopping", a.needs.Node))
	case <-ctx.Done():
		return refuse(core.Errorf(core.TimedOut, "agent of %s: %w", a.needs.Node, context.Cause(ctx)))
	}
}

func (a *Agent) reply(r node.Reply) {
	a.mu.Lock()
	c := a.calls[r.Call]
	delete(a.calls, r.Call)
	a.mu.Unlock()
	if c != nil {
		c <- r.Outcome
	}
}
