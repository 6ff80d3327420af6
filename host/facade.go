package host

import (
	"context"

	"github.com/weft-hpc/weft/core"
)

// NIC is the plugin as a NIC driver, whichever of its lives it is in. Create and Destroy may answer later than their context ends: see the package's comment.
func (p *Plugin) NIC() core.NICDriver { return nic{p} }

// Fabric is the plugin as a fabric backend.
func (p *Plugin) Fabric() core.FabricBackend { return fabric{p} }

// Hooks is the plugin as a scheduler's half beside the hook. It is core.Phased too: it asks the life that it is in, and answers Unsupported when no hook calls
// for the plugin.
func (p *Plugin) Hooks() core.Hooks { return hooks{p} }

// Scheduler is the plugin as a scheduler's other half. It is a core.Annotator, a core.Requeuer and a core.Resumer too, which answer Unsupported when the plugin is none.
func (p *Plugin) Scheduler() core.Scheduler { return scheduler{p} }

// Checker looks for trouble; a plugin that cannot finds none.
func (p *Plugin) Checker() core.Checker { return checker{p} }

type nic struct{ p *Plugin }

func (n nic) Devices(ctx context.Context) ([]core.Device, error) {
	return ask(ctx, n.p, func(ctx context.Context, l *life) ([]core.Device, error) {
		if l.nic == nil {
			return nil, n.p.unserved("NICs")
		}
		return l.nic.Devices(ctx)
	})
}

func (n nic) Services(ctx context.Context) ([]core.Service, error) {
	return ask(ctx, n.p, func(ctx context.Context, l *life) ([]core.Service, error) {
		if l.nic == nil {
			return nil, n.p.unserved("NICs")
		}
		return l.nic.Services(ctx)
	})
}

func (n nic) Create(ctx context.Context, specs []core.ServiceSpec) ([]core.Created, error) {
	return change(ctx, n.p, "create", func(ctx context.Context, l *life) ([]core.Created, error) {
		if l.nic == nil {
			return nil, n.p.unserved("NICs")
		}
		return counted(n.p, len(specs))(l.nic.Create(ctx, specs))
	})
}

func (n nic) Destroy(ctx context.Context, services []core.Service) ([]error, error) {
	return change(ctx, n.p, "destroy", func(ctx context.Context, l *life) ([]error, error) {
		if l.nic == nil {
			return nil, n.p.unserved("NICs")
		}
		out, err := l.nic.Destroy(ctx, services)
		if err == nil && len(out) != len(services) {
			return nil, n.p.miscounted(len(out), len(services))
		}
		return out, err
	})
}

func counted(p *Plugin, want int) func([]core.Created, error) ([]core.Created, error) {
	return func(out []core.Created, err error) ([]core.Created, error) {
		if err == nil && len(out) != want {
			return nil, p.miscounted(len(out), want)
		}
		return out, err
	}
}

func (p *Plugin) miscounted(got, want int) error {
	return core.Errorf(core.NICFailed, "%s: it answered %d results for %d services", p.spec.title(), got, want).WithRemedy("the plugin is at fault: report it to its author")
}

type fabric struct{ p *Plugin }

func (f fabric) Reserve(ctx context.Context, key core.Key, addresses int) (core.Collective, error) {
	return ask(ctx, f.p, func(ctx context.Context, l *life) (core.Collective, error) {
		if l.fabric == nil {
			return core.Collective{}, f.p.unserved("fabric")
		}
		return l.fabric.Reserve(ctx, key, addresses)
	})
}

func (f fabric) ReleaseStep(ctx context.Context, key core.Key, step string) error {
	return f.do(ctx, func(ctx context.Context, b core.FabricBackend) error { return b.ReleaseStep(ctx, key, step) })
}

func (f fabric) Release(ctx context.Context, key core.Key) error {
	return f.do(ctx, func(ctx context.Context, b core.FabricBackend) error { return b.Release(ctx, key) })
}

func (f fabric) do(ctx context.Context, call func(context.Context, core.FabricBackend) error) error {
	_, err := ask(ctx, f.p, func(ctx context.Context, l *life) (struct{}, error) {
		if l.fabric == nil {
			return struct{}{}, f.p.unserved("fabric")
		}
		return struct{}{}, call(ctx, l.fabric)
	})
	return err
}

func (f fabric) Collectives(ctx context.Context) (core.Fabric, error) {
	return ask(ctx, f.p, func(ctx context.Context, l *life) (core.Fabric, error) {
		if l.fabric == nil {
			return core.Fabric{}, f.p.unserved("fabric")
		}
		return l.fabric.Collectives(ctx)
	})
}

type hooks struct{ p *Plugin }

func (h hooks) Parse(ctx context.Context, call core.HookCall) (core.Intent, error) {
	return ask(ctx, h.p, func(ctx context.Context, l *life) (core.Intent, error) {
		if l.hooks == nil {
			return core.Intent{}, h.p.unserved("hooks")
		}
		return l.hooks.Parse(ctx, call)
	})
}

func (h hooks) Render(ctx context.Context, call core.HookCall, outcome core.Outcome) (core.HookReply, error) {
	return ask(ctx, h.p, func(ctx context.Context, l *life) (core.HookReply, error) {
		if l.hooks == nil {
			return core.HookReply{}, h.p.unserved("hooks")
		}
		return l.hooks.Render(ctx, call, outcome)
	})
}

var _ core.Phased = hooks{}

func (h hooks) Phases(ctx context.Context) ([]core.HookPhase, error) {
	return ask(ctx, h.p, func(ctx context.Context, l *life) ([]core.HookPhase, error) {
		if l.phased == nil {
			return nil, h.p.unserved("phases of hooks")
		}
		return l.phased.Phases(ctx)
	})
}

type scheduler struct{ p *Plugin }

var (
	_ core.Annotator = scheduler{}
	_ core.Requeuer  = scheduler{}
	_ core.Resumer   = scheduler{}
)

func (s scheduler) Describe(ctx context.Context, key core.Key, note []byte, from core.Peer) (core.Job, error) {
	return ask(ctx, s.p, func(ctx context.Context, l *life) (core.Job, error) {
		if l.scheduler == nil {
			return core.Job{}, s.p.unserved("scheduler")
		}
		return l.scheduler.Describe(ctx, key, note, from)
	})
}

func (s scheduler) Watch(ctx context.Context, tell func(core.Jobs) error) error {
	return follow(ctx, s.p, func(ctx context.Context, l *life) error {
		if l.scheduler == nil {
			return s.p.unserved("scheduler")
		}
		return l.scheduler.Watch(ctx, tell)
	})
}

func (s scheduler) Fail(ctx context.Context, key core.Key, reason string) error {
	return s.do(ctx, func(ctx context.Context, l *life) error { return l.scheduler.Fail(ctx, key, reason) })
}

func (s scheduler) Drain(ctx context.Context, node, reason string) error {
	return s.do(ctx, func(ctx context.Context, l *life) error { return l.scheduler.Drain(ctx, node, reason) })
}

func (s scheduler) Requeue(ctx context.Context, key core.Key, reason string) error {
	return s.do(ctx, func(ctx context.Context, l *life) error {
		if l.requeuer == nil {
			return s.p.unserved("requeues")
		}
		return l.requeuer.Requeue(ctx, key, reason)
	})
}

func (s scheduler) Resume(ctx context.Context, node string) error {
	return s.do(ctx, func(ctx context.Context, l *life) error {
		if l.resumer == nil {
			return s.p.unserved("resumes")
		}
		return l.resumer.Resume(ctx, node)
	})
}

func (s scheduler) Annotate(ctx context.Context, key core.Key, grant core.Grant) error {
	return s.do(ctx, func(ctx context.Context, l *life) error {
		if l.annotator == nil {
			return s.p.unserved("annotations")
		}
		return l.annotator.Annotate(ctx, key, grant)
	})
}

func (s scheduler) do(ctx context.Context, call func(context.Context, *life) error) error {
	_, err := ask(ctx, s.p, func(ctx context.Context, l *life) (struct{}, error) {
		if l.scheduler == nil {
			return struct{}{}, s.p.unserved("scheduler")
		}
		return struct{}{}, call(ctx, l)
	})
	return err
}

type checker struct{ p *Plugin }

func (c checker) Check(ctx context.Context) ([]core.Finding, error) {
	return ask(ctx, c.p, func(ctx context.Context, l *life) ([]core.Finding, error) {
		if l.checker == nil {
			return nil, nil
		}
		found, err := l.checker.Check(ctx)
		if err != nil && core.AsError(err).Code == core.Unsupported {
			return nil, nil
		}
		return found, err
	})
}
