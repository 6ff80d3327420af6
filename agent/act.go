package agent

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
)

// act does what the machine wants; the records behind it are durable.
func (a *Agent) act(actions []node.Action) {
	for _, act := range actions {
		switch act := act.(type) {
		case node.Reserve:
			a.reserve(act)
		case node.Look:
			a.aside(func(ctx context.Context) node.Input { return a.read(ctx, act) })
		case node.Witness:
			a.aside(func(ctx context.Context) node.Input { return a.witness(ctx, act) })
		case node.Create:
			a.aside(func(ctx context.Context) node.Input { return a.create(ctx, act) })
		case node.Destroy:
			a.aside(func(ctx context.Context) node.Input { return a.destroy(ctx, act) })
		case node.Reply:
			a.reply(act)
		case node.Tell:
			a.tell(act.Report)
		case node.Publish:
			if err := a.publish(act); err != nil {
				a.log.Warn("the job's environment could not be left for its tasks; they will ask the agent", core.LogJob, act.Run.Key.String(), core.LogError, err)
			}
		case node.Withdraw:
			if err := a.withdraw(act.Run); err != nil {
				a.log.Warn("the job's environment could not be removed", core.LogJob, act.Run.Key.String(), core.LogError, err)
			}
		case node.Drain:
			a.drain(act.Reason)
		case node.Say:
			a.say(act)
		case node.Short:
			a.meter.Short(act.Run.Scheduler)
			a.say(node.Say{Bad: true, Run: act.Run, Origin: act.Origin, Text: strings.Join(act.Warnings, "; ")})
		}
	}
}

// say writes a line of the machine's.
func (a *Agent) say(act node.Say) {
	level := slog.LevelInfo
	if act.Bad {
		level = slog.LevelWarn
	}
	attrs := make([]any, 0, 4)
	if act.Run.Job != "" {
		attrs = append(attrs, core.LogJob, act.Run.Key.String())
	}
	if act.Origin != "" {
		attrs = append(attrs, core.LogCall, act.Origin)
	}
	a.log.Log(context.Background(), level, act.Text, attrs...)
}

// aside runs a call out beside the writer; what it gives comes back as an input.
func (a *Agent) aside(f func(context.Context) node.Input) {
	ctx := a.ctx
	a.beside.Go(func() {
		in := f(ctx)
		if err := a.insist(context.WithoutCancel(ctx), work{in: in}); err != nil {
			return
		}
	})
}

// kept is how long of a hook's time is kept back at most, so that it ends with the word that the server is away, and not with its own end.
const kept = 250 * time.Millisecond

func (a *Agent) reserve(act node.Reserve) {
	a.aside(func(ctx context.Context) node.Input {
		left := act.Until - a.now().Uptime // the hook's own limit: how long a job's start waits for a server that is away
		ctx, cancel := context.WithTimeout(ctx, left-max(a.telling(act.Ask, left), min(left/16, kept)))
		defer cancel()
		defer a.hooked()()
		act.Ask.Agent = a.id
		g, err := a.needs.Authority.Reserve(ctx, a.needs.Node, act.Ask, act.Peer)
		e := core.AsError(err)
		if e != nil && (e.Reason == core.InternalFault && e.Code == core.Internal || e.Reason == core.TimedOut) {
			e = core.Errorf(core.ServerAway, "server: no answer for job %s: %w", act.Ask.Key, err)
		}
		return node.Reserved{Attempt: act.Attempt, Grant: g, Err: e}
	})
}

func (a *Agent) read(ctx context.Context, act node.Look) node.Input {
	ctx, cancel := context.WithTimeout(ctx, a.limits.Read)
	defer cancel()
	d := drove{verb: "read", run: act.Run, origin: act.Origin, began: time.Now()}
	r, err := core.ReadNICs(ctx, a.needs.Driver)
	a.told(d, err)
	if act.Run == (core.Run{}) {
		a.auditBypasses()
		a.tellMissed()
	}
	if err != nil {
		return node.Read{Attempt: act.Attempt, Err: a.driverError(err)}
	}
	a.devices.Store(&r.Before)
	return node.Read{Attempt: act.Attempt, Devices: both(r.Before, r.After), Services: r.Services}
}

// both are the NICs of after that were as sound before; one that had a fault before has it still. Their signs are those
// of before: a NIC that restarted meanwhile is in doubt at once.
func both(before, after []core.Device) []core.Device {
	both := after[:0]
	for _, d := range after {
		i := slices.IndexFunc(before, func(b core.Device) bool { return b.Name == d.Name && (b.Fault == "" || d.Fault != "") })
		if i >= 0 {
			d.Sign = before[i].Sign
			both = append(both, d)
		}
	}
	return both
}

func (a *Agent) create(ctx context.Context, act node.Create) node.Input {
	ctx, cancel := context.WithTimeout(ctx, a.limits.Driver)
	defer cancel()
	d := drove{verb: "create", run: act.Run, origin: act.Origin, began: time.Now()}
	results, err := a.needs.Driver.Create(ctx, act.Specs)
	first := err
	for i, r := range results[:min(len(results), len(act.Specs))] {
		d.nics, d.ids, d.vnis = append(d.nics, act.Specs[i].Device), append(d.ids, fmt.Sprint(r.Service.ID)), act.Specs[i].VNIs
		if first == nil {
			first = r.Err
		}
	}
	a.told(d, first)
	if err == nil && len(results) != len(act.Specs) {
		err = core.Errorf(core.DriverAway, "NIC driver: it answered %d results for %d services", len(results), len(act.Specs))
	}
	return node.Made{Attempt: act.Attempt, Results: results, Err: a.driverError(err)}
}

func (a *Agent) destroy(ctx context.Context, act node.Destroy) node.Input {
	ctx, cancel := context.WithTimeout(ctx, a.limits.Driver)
	defer cancel()
	d := drove{verb: "destroy", run: act.Run, origin: act.Origin, began: time.Now()}
	errs, err := a.needs.Driver.Destroy(ctx, act.Services)
	first := err
	for i, s := range act.Services {
		d.nics, d.ids, d.vnis = append(d.nics, s.Device), append(d.ids, fmt.Sprint(s.ID)), s.VNIs
		if first == nil && i < len(errs) {
			first = errs[i]
		}
	}
	a.told(d, first)
	if err == nil && len(errs) != len(act.Services) {
		err = core.Errorf(core.DriverAway, "NIC driver: it answered %d results for %d services", len(errs), len(act.Services))
	}
	out := node.Removed{Attempt: act.Attempt, Err: a.driverError(err)}
	if err == nil {
		out.Errs = make([]*core.Error, len(errs))
		for i, e := range errs {
			out.Errs[i] = a.driverError(e)
		}
	}
	return out
}

// driverError gives a driver's foreign error its reason: a driver that fails is a fault of its node.
func (a *Agent) driverError(err error) *core.Error {
	e := core.AsError(err)
	if e != nil && (e.Reason == core.InternalFault || e.Reason == core.TimedOut) {
		e = core.Errorf(core.NICFailed, "node %s: NIC driver: %w", a.needs.Node, err)
	}
	return e
}

// drain takes the node out of service through the adapters that run here; the report's fault reaches the others through the server.
func (a *Agent) drain(reason string) {
	ctx := a.ctx
	for name, sched := range a.needs.Schedulers {
		a.beside.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, a.limits.Driver)
			defer cancel()
			_, err := sched.Call(ctx, core.SchedulerCall{Scheduler: name, Verb: core.CallDrain, Node: a.needs.Node, Reason: reason})
			if err != nil && core.AsError(err).Code != core.Unsupported {
				a.log.Warn("the scheduler did not take the drain", core.LogScheduler, name, core.LogError, err)
			}
		})
	}
}
