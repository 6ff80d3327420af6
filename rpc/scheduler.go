package rpc

import (
	"context"

	"google.golang.org/grpc"

	"github.com/weft-hpc/weft/core"
	schedulerv1 "github.com/weft-hpc/weft/rpc/proto/weft/scheduler/v1"
)

// SchedulerService is the name of the wire service of an adapter's half that speaks with its scheduler.
const SchedulerService = "weft.scheduler.v1.Scheduler"

// ServeScheduler registers scheduler at a gRPC server. Annotate is Unsupported where scheduler is no core.Annotator, Requeue where
// it is no core.Requeuer, Resume where it is no core.Resumer.
func ServeScheduler(to grpc.ServiceRegistrar, scheduler core.Scheduler) {
	schedulerv1.RegisterSchedulerServer(to, &schedulerServer{scheduler: scheduler})
}

// NewScheduler is the adapter at the other end of conn. It is a core.Annotator, a core.Requeuer and a core.Resumer too, whose methods may answer Unsupported. An error is a *core.Error; Reason
// SchedulerAway when the adapter cannot be reached.
func NewScheduler(conn grpc.ClientConnInterface) core.Scheduler {
	return &schedulerClient{pb: schedulerv1.NewSchedulerClient(conn), remote: remote{who: "scheduler adapter", away: core.SchedulerAway}}
}

type schedulerServer struct {
	schedulerv1.UnimplementedSchedulerServer
	scheduler core.Scheduler
}

func (s *schedulerServer) Describe(ctx context.Context, req *schedulerv1.DescribeRequest) (*schedulerv1.DescribeReply, error) {
	d := &decoder{}
	key, note, from := d.key(req.GetKey()), d.bytes("note", req.GetNote(), core.MaxNote), d.peer(req.GetCaller())
	if err := d.ready(ctx); err != nil {
		return nil, err
	}
	job, err := s.scheduler.Describe(ctx, key, note, from)
	if err != nil {
		return nil, outward(err)
	}
	return &schedulerv1.DescribeReply{Job: encodeJob(job)}, nil
}

func (s *schedulerServer) Watch(stream grpc.BidiStreamingServer[schedulerv1.WatchRequest, schedulerv1.WatchReply]) error {
	return watch(stream, s.scheduler)
}

func (s *schedulerServer) Fail(ctx context.Context, req *schedulerv1.FailRequest) (*schedulerv1.FailReply, error) {
	d := &decoder{}
	key := d.key(req.GetKey())
	if err := d.ready(ctx); err != nil {
		return nil, err
	}
	if err := s.scheduler.Fail(ctx, key, text(req.GetReason())); err != nil {
		return nil, outward(err)
	}
	return &schedulerv1.FailReply{}, nil
}

func (s *schedulerServer) Drain(ctx context.Context, req *schedulerv1.DrainRequest) (*schedulerv1.DrainReply, error) {
	d := &decoder{}
	node := d.name("node", req.GetNode(), core.MaxNodeName)
	if err := d.ready(ctx); err != nil {
		return nil, err
	}
	if err := s.scheduler.Drain(ctx, node, text(req.GetReason())); err != nil {
		return nil, outward(err)
	}
	return &schedulerv1.DrainReply{}, nil
}

func (s *schedulerServer) Requeue(ctx context.Context, req *schedulerv1.RequeueRequest) (*schedulerv1.RequeueReply, error) {
	d := &decoder{}
	key := d.key(req.GetKey())
	if err := d.ready(ctx); err != nil {
		return nil, err
	}
	requeuer, ok := s.scheduler.(core.Requeuer)
	if !ok {
		return nil, outward(core.Errorf(core.NotSupported, "scheduler adapter: Requeue: its jobs have no queue to go back to"))
	}
	if err := requeuer.Requeue(ctx, key, text(req.GetReason())); err != nil {
		return nil, outward(err)
	}
	return &schedulerv1.RequeueReply{}, nil
}

func (s *schedulerServer) Resume(ctx context.Context, req *schedulerv1.ResumeRequest) (*schedulerv1.ResumeReply, error) {
	d := &decoder{}
	node := d.name("node", req.GetNode(), core.MaxNodeName)
	if err := d.ready(ctx); err != nil {
		return nil, err
	}
	resumer, ok := s.scheduler.(core.Resumer)
	if !ok {
		return nil, outward(core.Errorf(core.NotSupported, "scheduler adapter: Resume: it takes no node back into service"))
	}
	if err := resumer.Resume(ctx, node); err != nil {
		return nil, outward(err)
	}
	return &schedulerv1.ResumeReply{}, nil
}

func (s *schedulerServer) Annotate(ctx context.Context, req *schedulerv1.AnnotateRequest) (*schedulerv1.AnnotateReply, error) {
	d := &decoder{}
	key, grant := d.key(req.GetKey()), d.grant(req.GetGrant())
	if err := d.ready(ctx); err != nil {
		return nil, err
	}
	annotator, ok := s.scheduler.(core.Annotator)
	if !ok {
		return nil, outward(core.Errorf(core.NotSupported, "scheduler adapter: Annotate: it shows no grants"))
	}
	if err := annotator.Annotate(ctx, key, grant); err != nil {
		return nil, outward(err)
	}
	return &schedulerv1.AnnotateReply{}, nil
}

type schedulerClient struct {
	remote
	pb schedulerv1.SchedulerClient
}

var (
	_ core.Annotator = (*schedulerClient)(nil)
	_ core.Requeuer  = (*schedulerClient)(nil)
	_ core.Resumer   = (*schedulerClient)(nil)
)

func (c *schedulerClient) Describe(ctx context.Context, key core.Key, note []byte, from core.Peer) (core.Job, error) {
	req := &schedulerv1.DescribeRequest{Key: encodeKey(key), Note: note, Caller: encodePeer(from)}
	reply, err := c.pb.Describe(ctx, req, pluginBound...)
	if err != nil {
		return core.Job{}, c.inward("Describe", err)
	}
	d := &decoder{}
	job := d.job(reply.GetJob())
	return job, c.answer("Describe", d)
}

func (c *schedulerClient) Watch(ctx context.Context, tell func(core.Jobs) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.pb.Watch(ctx, pluginBound...)
	if err != nil {
		return c.inward("Watch", err)
	}
	return c.listen(stream, tell)
}

func (c *schedulerClient) Fail(ctx context.Context, key core.Key, reason string) error {
	_, err := c.pb.Fail(ctx, &schedulerv1.FailRequest{Key: encodeKey(key), Reason: text(reason)}, pluginBound...)
	return c.only("Fail", err)
}

func (c *schedulerClient) Drain(ctx context.Context, node, reason string) error {
	_, err := c.pb.Drain(ctx, &schedulerv1.DrainRequest{Node: utf(node), Reason: text(reason)}, pluginBound...)
	return c.only("Drain", err)
}

// Requeue implements core.Requeuer.
func (c *schedulerClient) Requeue(ctx context.Context, key core.Key, reason string) error {
	_, err := c.pb.Requeue(ctx, &schedulerv1.RequeueRequest{Key: encodeKey(key), Reason: text(reason)}, pluginBound...)
	return c.only("Requeue", err)
}

// Resume implements core.Resumer.
func (c *schedulerClient) Resume(ctx context.Context, node string) error {
	_, err := c.pb.Resume(ctx, &schedulerv1.ResumeRequest{Node: utf(node)}, pluginBound...)
	return c.only("Resume", err)
}

// Annotate implements core.Annotator. The token stays here, whatever the caller forgot.
func (c *schedulerClient) Annotate(ctx context.Context, key core.Key, grant core.Grant) error {
	_, err := c.pb.Annotate(ctx, &schedulerv1.AnnotateRequest{Key: encodeKey(key), Grant: encodeGrant(grant.Shown())}, pluginBound...)
	return c.only("Annotate", err)
}
