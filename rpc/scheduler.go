package rpc

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/weft-hpc/weft/core"
	corev1 "github.com/weft-hpc/weft/rpc/proto/weft/core/v1"
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
	do := func(ctx context.Context) (core.SchedulerReply, error) { return s.scheduler.Call(ctx, call) }
	return answered(ctx, d, do, func(r core.SchedulerReply) *schedulerv1.SchedulerReply {
		return &schedulerv1.SchedulerReply{Job: encodeAnyJob(r.Job), Drained: every(r.Drained, encodeDrained)}
	})
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
func (c *schedulerClient) Call(ctx context.Context, call core.SchedulerCall) (core.SchedulerReply, error) {
	if !c.Has(call.Verb) {
		return core.SchedulerReply{}, call.Unsupported()
	}
	reply, err := c.pb.Call(ctx, encodeSchedulerCall(call), pluginBound...)
	out, err := decoded(c.remote, string(call.Verb), err, func(d *decoder) *core.SchedulerReply { return d.schedulerReply(reply) })
	if err != nil {
		return core.SchedulerReply{}, err
	}
	if out.Err != nil {
		return core.SchedulerReply{}, out.Err
	}
	return *out, nil
}

// Watch implements core.SchedulerClient.
func (c *schedulerClient) Watch(ctx context.Context, tell func(core.Jobs) error) error {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.pb.Watch(within, pluginBound...)
	if err != nil {
		return c.inward("Watch", err)
	}
	return c.listen(ctx, stream, tell)
}

// maxReply is how large an answer may be that travels in a report: one that is larger would end the node's session.
const maxReply = MaxAuthority - 64<<10

// encodeSchedulerCall leaves the grant's token here, whatever the caller forgot.
func encodeSchedulerCall(c core.SchedulerCall) *schedulerv1.SchedulerCall {
	p := &schedulerv1.SchedulerCall{
		Id: c.ID, Scheduler: utf(c.Scheduler), Within: int64(c.Within), Verb: utf(string(c.Verb)),
		Key: encodeAnyKey(c.Key), Node: utf(c.Node), Reason: text(c.Reason), Note: c.Note, From: encodePeer(c.From),
	}
	if c.Grant != nil {
		p.Grant = encodeGrant(c.Grant.Shown())
	}
	return p
}

// schedulerCall takes a verb that this release does not know: whoever has the adapter says so, and goes on.
func (d *decoder) schedulerCall(p *schedulerv1.SchedulerCall) core.SchedulerCall {
	c := core.SchedulerCall{
		ID: p.GetId(), Scheduler: d.anyName("scheduler", p.GetScheduler(), core.MaxScheduler),
		Within: time.Duration(p.GetWithin()), Verb: core.SchedulerVerb(d.word("verb", p.GetVerb())),
		Key: d.anyKey(p.GetKey()), Node: d.anyName("node", p.GetNode(), core.MaxNodeName),
		Reason: text(p.GetReason()), Note: d.bytes("note", p.GetNote(), core.MaxNote), From: d.peer(p.GetFrom()),
	}
	if p.GetGrant() != nil {
		g := d.grant(p.GetGrant()).Shown()
		c.Grant = &g
	}
	d.check(c.Check())
	return c
}

func encodeSchedulerReply(r *core.SchedulerReply) *schedulerv1.SchedulerReply {
	p := &schedulerv1.SchedulerReply{Id: r.ID, Job: encodeAnyJob(r.Job), Drained: every(r.Drained, encodeDrained)}
	if n := proto.Size(p.Job); n > maxReply {
		p.Job = nil
		p.Error = encodeError(core.Errorf(core.InternalFault, "job %s: its description has %d bytes and may have %d", r.Job.Key, n, maxReply))
	}
	if len(p.Drained) > 0 && proto.Size(p) > maxReply {
		p.Drained = nil
		p.Error = encodeError(core.Errorf(core.InternalFault, "the list of drained nodes has more than %d bytes", maxReply))
	}
	if r.Err != nil {
		p.Error = encodeError(r.Err)
	}
	return p
}

func encodeDrained(v core.Drained) *schedulerv1.Drained {
	return &schedulerv1.Drained{Hosts: utf(v.Hosts), Drain: encodeDrain(v.Drain), Hook: v.Hook}
}

func (d *decoder) drained(p *schedulerv1.Drained) core.Drained {
	return core.Drained{Hosts: d.fit("hosts", p.GetHosts(), maxHosts), Drain: d.drain(p.GetDrain()), Hook: p.GetHook()}
}

func encodeDrain(v core.Drain) *corev1.Drain {
	return &corev1.Drain{Reason: text(v.Reason), By: text(v.By), Since: v.Since}
}

func (d *decoder) drain(p *corev1.Drain) core.Drain {
	return core.Drain{Reason: text(p.GetReason()), By: text(p.GetBy()), Since: p.GetSince()}
}

func (d *decoder) schedulerReply(p *schedulerv1.SchedulerReply) *core.SchedulerReply {
	if p == nil {
		return nil
	}
	return &core.SchedulerReply{
		ID: p.GetId(), Job: d.anyJob(p.GetJob()), Err: local.fault(p.GetError()),
		Drained: each(d, "drained nodes", p.GetDrained(), core.MaxDrained, d.drained),
	}
}
