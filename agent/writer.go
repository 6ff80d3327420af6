package agent

import (
	"context"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
)

// work is an input, or a look at the machine that may make one.
type work struct {
	in   node.Input
	look func(*node.Machine) node.Input
}

// insist queues w, waiting for room; it gives up when the agent or ctx ends.
func (a *Agent) insist(ctx context.Context, w work) error {
	select {
	case a.queue <- w:
		return nil
	case <-a.done:
		return core.Errorf(core.ServerAway, "agent of %s: it is stopping", a.needs.Node)
	case <-ctx.Done():
		return core.Errorf(core.TimedOut, "agent of %s: %w", a.needs.Node, context.Cause(ctx))
	}
}

func (a *Agent) load(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, a.limits.Commit)
	defer cancel()
	var records []node.Record
	if err := a.needs.Store.Load(ctx, func(r node.Record) error { records = append(records, r); return nil }); err != nil {
		return err
	}
	cfg := a.needs.Machine
	cfg.Node, cfg.Boot = a.needs.Node, a.needs.Boot
	m, first, actions := node.New(cfg, records, a.now())
	if len(first) > 0 {
		if err := a.needs.Store.Commit(ctx, first); err != nil {
			return err
		}
	}
	a.machine, a.start = m, actions
	a.ended.Store(m.Untold())
	return nil
}

func (a *Agent) write(ctx context.Context) {
	timer := time.NewTimer(a.limits.Tick)
	defer timer.Stop()
	batch := make([]work, 0, a.limits.Batch)
	for {
		timer.Reset(a.wait())
		batch = batch[:0]
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			batch = append(batch, work{in: node.Tick{}})
		case w := <-a.queue:
			batch = append(batch, w)
		}
	more:
		for len(batch) < cap(batch) {
			select {
			case w := <-a.queue:
				batch = append(batch, w)
			default:
				break more
			}
		}
		if ctx.Err() != nil { // calls out fail for it, and no hook may hear of that
			return
		}
		a.step(ctx, batch)
	}
}

// wait is how long nothing has to happen. An idle node is woken by its machine's own times only.
func (a *Agent) wait() time.Duration {
	if a.machine == nil {
		return a.limits.Tick
	}
	return max(time.Millisecond, a.machine.Next()-a.now().Uptime)
}

func (a *Agent) step(ctx context.Context, batch []work) {
	if a.machine == nil {
		if err := a.load(ctx); err != nil {
			a.fail(batch, err)
			return
		}
		a.log.Info("the node's store is back")
		a.act(a.start)
		a.start = nil
		a.relink(nil)
	}
	var records []node.Record
	var actions []node.Action
	for _, w := range batch {
		in := w.in
		if w.look != nil {
			if in = w.look(a.machine); in == nil {
				continue
			}
		}
		r, act := a.machine.Step(a.now(), in)
		records = append(records, r...)
		actions = append(actions, act...)
	}
	commit, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.limits.Commit)
	err := a.needs.Store.Commit(commit, records)
	cancel()
	if err != nil {
		a.fail(nil, err) // looks were answered above
		return
	}
	a.act(actions)
	a.keep()
	if untold := a.machine.Untold(); a.ended.Swap(untold) != untold {
		a.wake()
	}
}

// fail throws the machine away, since it may be ahead of the store. Every hook that waits is told, and who looks by what is unseen.
func (a *Agent) fail(unseen []work, err error) {
	if a.machine != nil {
		a.log.Error("the node's store cannot be written: no job can start here until it can", core.LogError, err)
	}
	a.machine = nil
	for _, w := range unseen {
		if w.look != nil {
			w.look(nil)
		}
	}
	e := core.Errorf(core.StoreFailed, "node %s: its store: %w", a.needs.Node, err).WithRemedy(core.AsError(err).Remedy)
	a.mu.Lock()
	calls := a.calls
	a.calls = map[uint64]chan core.Outcome{}
	a.mu.Unlock()
	for _, c := range calls {
		c <- core.Outcome{Err: e}
	}
	a.relink(e)
}

// Look runs f with the machine in the writer's turn. f must be quick and must keep nothing of it but copies.
func (a *Agent) Look(ctx context.Context, f func(*node.Machine)) error {
	done := make(chan bool, 1)
	err := a.insist(ctx, work{look: func(m *node.Machine) node.Input {
		if m != nil {
			f(m)
		}
		done <- m != nil
		return nil
	}})
	if err != nil {
		return err
	}
	select {
	case ok := <-done:
		if !ok {
			return core.Errorf(core.StoreFailed, "node %s: its store cannot be read", a.needs.Node).WithRemedy("see the agent's log")
		}
		return nil
	case <-a.done:
		return core.Errorf(core.ServerAway, "agent of %s: it is stopping", a.needs.Node)
	case <-ctx.Done():
		return core.Errorf(core.TimedOut, "agent of %s: it did not answer: %w", a.needs.Node, context.Cause(ctx))
	}
}
