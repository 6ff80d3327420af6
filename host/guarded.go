package host

import (
	"context"

	"github.com/weft-hpc/weft/core"
)

type nothing = struct{}

func none(err error) (nothing, error) { return nothing{}, err }

type guardedNIC struct {
	g guard
	d core.NICDriver
}

func (n guardedNIC) Devices(ctx context.Context) ([]core.Device, error) {
	return heed(ctx, n.g, "devices", n.d.Devices)
}

func (n guardedNIC) Services(ctx context.Context) ([]core.Service, error) {
	return heed(ctx, n.g, "services", n.d.Services)
}

func (n guardedNIC) Create(ctx context.Context, specs []core.ServiceSpec) ([]core.Created, error) {
	return await(ctx, n.g, "create", func(ctx context.Context) ([]core.Created, error) { return n.d.Create(ctx, specs) })
}

func (n guardedNIC) Destroy(ctx context.Context, services []core.Service) ([]error, error) {
	return await(ctx, n.g, "destroy", func(ctx context.Context) ([]error, error) { return n.d.Destroy(ctx, services) })
}

type guardedFabric struct {
	g guard
	b core.FabricBackend
}

func (f guardedFabric) Reserve(ctx context.Context, key core.Key, addresses int) (core.Collective, error) {
	return heed(ctx, f.g, "reserve", func(ctx context.Context) (core.Collective, error) { return f.b.Reserve(ctx, key, addresses) })
}

func (f guardedFabric) ReleaseStep(ctx context.Context, key core.Key, step string) error {
	_, err := heed(ctx, f.g, "release a step", func(ctx context.Context) (nothing, error) { return none(f.b.ReleaseStep(ctx, key, step)) })
	return err
}

func (f guardedFabric) Release(ctx context.Context, key core.Key) error {
	_, err := heed(ctx, f.g, "release", func(ctx context.Context) (nothing, error) { return none(f.b.Release(ctx, key)) })
	return err
}

func (f guardedFabric) Collectives(ctx context.Context) (core.Fabric, error) {
	return heed(ctx, f.g, "collectives", f.b.Collectives)
}

type guardedHooks struct {
	g guard
	h core.Hooks
}

func (h guardedHooks) Parse(ctx context.Context, call core.HookCall) (core.Intent, error) {
	return heed(ctx, h.g, "parse", func(ctx context.Context) (core.Intent, error) { return h.h.Parse(ctx, call) })
}

func (h guardedHooks) Render(ctx context.Context, call core.HookCall, outcome core.Outcome) (core.HookReply, error) {
	return heed(ctx, h.g, "render", func(ctx context.Context) (core.HookReply, error) { return h.h.Render(ctx, call, outcome) })
}

type guardedPhased struct {
	g guard
	h core.Phased
}

func (h guardedPhased) Phases(ctx context.Context) ([]core.HookPhase, error) {
	return heed(ctx, h.g, "phases", h.h.Phases)
}

type guardedScheduler struct {
	g guard
	s core.Scheduler
}

func (s guardedScheduler) Describe(ctx context.Context, key core.Key, note []byte, from core.Peer) (core.Job, error) {
	return heed(ctx, s.g, "describe", func(ctx context.Context) (core.Job, error) { return s.s.Describe(ctx, key, note, from) })
}

// Watch is told nothing more once its caller is gone, even by a plugin that does not heed its context.
func (s guardedScheduler) Watch(ctx context.Context, tell func(core.Jobs) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	turn := make(chan nothing, 1)
	_, err := heed(ctx, s.g, "watch", func(ctx context.Context) (nothing, error) {
		return none(s.s.Watch(ctx, func(jobs core.Jobs) error {
			turn <- nothing{}
			defer func() { <-turn }()
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return tell(jobs)
		}))
	})
	cancel()
	turn <- nothing{} // until a tell that was begun is over
	<-turn
	return err
}

func (s guardedScheduler) Fail(ctx context.Context, key core.Key, reason string) error {
	_, err := heed(ctx, s.g, "fail", func(ctx context.Context) (nothing, error) { return none(s.s.Fail(ctx, key, reason)) })
	return err
}

func (s guardedScheduler) Drain(ctx context.Context, node, reason string) error {
	_, err := heed(ctx, s.g, "drain", func(ctx context.Context) (nothing, error) { return none(s.s.Drain(ctx, node, reason)) })
	return err
}

type guardedRequeuer struct {
	g guard
	r core.Requeuer
}

func (r guardedRequeuer) Requeue(ctx context.Context, key core.Key, reason string) error {
	_, err := heed(ctx, r.g, "requeue", func(ctx context.Context) (nothing, error) { return none(r.r.Requeue(ctx, key, reason)) })
	return err
}

type guardedResumer struct {
	g guard
	r core.Resumer
}

func (r guardedResumer) Resume(ctx context.Context, node string) error {
	_, err := heed(ctx, r.g, "resume", func(ctx context.Context) (nothing, error) { return none(r.r.Resume(ctx, node)) })
	return err
}

type guardedAnnotator struct {
	g guard
	a core.Annotator
}

func (a guardedAnnotator) Annotate(ctx context.Context, key core.Key, grant core.Grant) error {
	_, err := heed(ctx, a.g, "annotate", func(ctx context.Context) (nothing, error) { return none(a.a.Annotate(ctx, key, grant)) })
	return err
}

type guardedChecker struct {
	g guard
	c core.Checker
}

func (c guardedChecker) Check(ctx context.Context) ([]core.Finding, error) {
	return heed(ctx, c.g, "check", c.c.Check)
}
