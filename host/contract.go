package host

import (
	"bytes"
	"context"

	"github.com/weft-hpc/weft/core"
)

// NIC is the plugin as a NIC driver, whichever of its lives it is in. Create and Destroy may answer later than their context ends: see the package's comment.
func (p *Plugin) NIC() core.NICDriver { return nic{p} }

// Fabric is the plugin as a fabric backend.
func (p *Plugin) Fabric() core.FabricBackend { return fabric{p} }

// Hooks is the plugin as a scheduler's half beside the hook. It is core.Phased and core.RequestParser too, and answers
// Unsupported when the plugin did not tell that ability.
func (p *Plugin) Hooks() core.Hooks { return hooks{p} }

// Scheduler is the plugin as a scheduler's other half.
func (p *Plugin) Scheduler() core.SchedulerClient { return scheduler{p} }

// Checker looks for trouble; a plugin that cannot finds none.
func (p *Plugin) Checker() core.Checker { return checker{p} }

type nic struct{ p *Plugin }

func (n nic) Devices(ctx context.Context) ([]core.Device, error) {
	return ask(ctx, n.p, "devices", asNIC, core.NICDriver.Devices)
}

func (n nic) Services(ctx context.Context) ([]core.Service, error) {
	return ask(ctx, n.p, "services", asNIC, core.NICDriver.Services)
}

// ReadNICs implements core.NICReader.
func (n nic) ReadNICs(ctx context.Context) (core.NICReading, error) {
	return ask(ctx, n.p, "read", asNIC, func(d core.NICDriver, ctx context.Context) (core.NICReading, error) {
		return core.ReadNICs(ctx, d)
	})
}

func (n nic) Create(ctx context.Context, specs []core.ServiceSpec) ([]core.Created, error) {
	return change(ctx, n.p, "create", asNIC, func(d core.NICDriver, ctx context.Context) ([]core.Created, error) {
		out, err := d.Create(ctx, specs)
		return counted(n.p, out, len(specs), err)
	})
}

func (n nic) Destroy(ctx context.Context, services []core.Service) ([]error, error) {
	return change(ctx, n.p, "destroy", asNIC, func(d core.NICDriver, ctx context.Context) ([]error, error) {
		out, err := d.Destroy(ctx, services)
		return counted(n.p, out, len(services), err)
	})
}

// counted refuses an answer of another length than its question.
func counted[T any](p *Plugin, out []T, want int, err error) ([]T, error) {
	if err == nil && len(out) != want {
		return nil, core.Errorf(core.NICFailed, "%s: it answered %d results for %d services", p.spec.title(), len(out), want).
			WithRemedy("the plugin is at fault: report it to its author")
	}
	return out, err
}

type fabric struct{ p *Plugin }

func (f fabric) Reserve(ctx context.Context, key core.Key, addresses int) (core.Collective, error) {
	return ask(ctx, f.p, "reserve", asFabric, func(b core.FabricBackend, ctx context.Context) (core.Collective, error) {
		return b.Reserve(ctx, key, addresses)
	})
}

func (f fabric) ReleaseStep(ctx context.Context, key core.Key, step string) error {
	_, err := ask(ctx, f.p, "release a step", asFabric, only(func(b core.FabricBackend, ctx context.Context) error {
		return b.ReleaseStep(ctx, key, step)
	}))
	return err
}

func (f fabric) Release(ctx context.Context, key core.Key) error {
	_, err := ask(ctx, f.p, "release", asFabric, only(func(b core.FabricBackend, ctx context.Context) error {
		return b.Release(ctx, key)
	}))
	return err
}

func (f fabric) Collectives(ctx context.Context) (core.Fabric, error) {
	return ask(ctx, f.p, "collectives", asFabric, core.FabricBackend.Collectives)
}

type hooks struct{ p *Plugin }

var (
	_ core.Phased        = hooks{}
	_ core.RequestParser = hooks{}
)

func (h hooks) Parse(ctx context.Context, call core.HookCall) (core.Intent, error) {
	return ask(ctx, h.p, "parse", asHooks, func(h core.Hooks, ctx context.Context) (core.Intent, error) {
		return h.Parse(ctx, call)
	})
}

func (h hooks) Render(ctx context.Context, call core.HookCall, outcome core.Outcome) (core.HookReply, error) {
	return ask(ctx, h.p, "render", asHooks, func(h core.Hooks, ctx context.Context) (core.HookReply, error) {
		reply, err := h.Render(ctx, call, outcome)
		reply.Stderr = bytes.Map(core.Shown, reply.Stderr) // a user's terminal; standard output is a scheduler's
		return reply, err
	})
}

func (h hooks) Phases(ctx context.Context) ([]core.HookPhase, error) {
	return ask(ctx, h.p, "phases", asPhased, core.Phased.Phases)
}

func (h hooks) Options(ctx context.Context) ([]core.Option, error) {
	return ask(ctx, h.p, "options", asParser, core.RequestParser.Options)
}

func (h hooks) ParseRequest(ctx context.Context, given []string) (core.Request, error) {
	parse := func(p core.RequestParser, ctx context.Context) (core.Request, error) {
		return p.ParseRequest(ctx, given)
	}
	return ask(ctx, h.p, "parse options", asParser, parse)
}

type scheduler struct{ p *Plugin }

// Has implements core.SchedulerClient.
func (s scheduler) Has(verb core.SchedulerVerb) bool {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	return s.p.life != nil && s.p.life.scheduler != nil && s.p.life.scheduler.Has(verb)
}

// Call implements core.SchedulerClient.
func (s scheduler) Call(ctx context.Context, c core.SchedulerCall) (core.SchedulerReply, error) {
	call := func(s core.SchedulerClient, ctx context.Context) (core.SchedulerReply, error) { return s.Call(ctx, c) }
	return ask(ctx, s.p, string(c.Verb), asScheduler, call)
}

// Watch tells nothing more once its caller is gone, even where the plugin does not heed its context.
func (s scheduler) Watch(ctx context.Context, tell func(core.Jobs) error) error {
	turn := make(chan struct{}, 1)
	err := follow(ctx, s.p, "watch", asScheduler, func(s core.SchedulerClient, ctx context.Context) error {
		return s.Watch(ctx, func(jobs core.Jobs) error {
			turn <- struct{}{}
			defer func() { <-turn }()
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return tell(jobs)
		})
	})
	turn <- struct{}{} // until a tell that was begun is over
	<-turn
	return err
}

type checker struct{ p *Plugin }

func (c checker) Check(ctx context.Context) ([]core.Finding, error) {
	found, err := ask(ctx, c.p, "check", asChecker, core.Checker.Check)
	if err != nil && core.AsError(err).Code == core.Unsupported {
		return nil, nil
	}
	return found, err
}
