package rpc

import (
	"context"
	"slices"

	"google.golang.org/grpc"

	"github.com/weft-hpc/weft/core"
	schedulerv1 "github.com/weft-hpc/weft/rpc/proto/weft/scheduler/v1"
)

// SchedulerService is the name of the wire service of an adapter's half that speaks with its scheduler.
const SchedulerService = "weft.scheduler.v1.Scheduler"

// ServeScheduler registers scheduler at a gRPC server.
func ServeScheduler(to grpc.ServiceRegistrar, scheduler core.SchedulerClient) {
	schedulerv1.RegisterSchedulerServer(to, &schedulerServer{scheduler: scheduler})
}

// NewScheduler is the adapter at the other end of conn, which told these abilities. An error is a *core.Error; its Reason is
// SchedulerAway when the adapter cannot be reached.
func NewScheduler(conn grpc.ClientConnInterface, able []core.Ability) core.SchedulerClient {
	r := remote{who: "scheduler adapter", away: core.SchedulerAway}
	return &schedulerClient{remote: r, pb: schedulerv1.NewSchedulerClient(conn), able: able}
}

type schedulerServer struct {
	schedulerv1.UnimplementedSchedulerServer
	scheduler core.SchedulerClient
}

func (s *schedulerServer) Call(
	ctx context.Context, req *schedulerv1.SchedulerCall,
) (*schedulerv1.SchedulerReply, error) {
	d := &decoder{}
	call := d.schedulerCall(req)
	if err := d.ready(ctx); err != nil {
		return nil, err
	}
	job, err := s.scheduler.Call(ctx, call)
	if err != nil {
		return nil, outward(err)
	}
	return &schedulerv1.SchedulerReply{Job: encodeAnyJob(job)}, nil
}

func (s *schedulerServer) Watch(stream grpc.BidiStreamingServer[schedulerv1.WatchRequest, schedulerv1.WatchReply]) error {
	return watch(stream, s.scheduler)
}

type schedulerClient struct {
	remote
	pb   schedulerv1.SchedulerClient
	able []core.Ability
}

// Has implements core.SchedulerClient.
func (c *schedulerClient) Has(verb core.SchedulerVerb) bool {
	return slices.Contains(c.able, core.Ability(verb))
}

// Call implements core.SchedulerClient.
func (c *schedulerClient) Call(ctx context.Context, call core.SchedulerCall) (*core.Job, error) {
	if !c.Has(call.Verb) {
		return nil, call.Unsupported()
	}
	reply, err := c.pb.Call(ctx, encodeSchedulerCall(call), pluginBound...)
	if err != nil {
		return nil, c.inward(string(call.Verb), err)
	}
	d := &decoder{}
	out := d.schedulerReply(reply)
	if err := c.answer(string(call.Verb), d); err != nil {
		return nil, err
	}
	if out.Err != nil {
		return nil, out.Err
	}
	return out.Job, nil
}

// Watch implements core.SchedulerClient.
func (c *schedulerClient) Watch(ctx context.Context, tell func(core.Jobs) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.pb.Watch(ctx, pluginBound...)
	if err != nil {
		return c.inward("Watch", err)
	}
	return c.listen(stream, tell)
}
