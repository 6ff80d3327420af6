package rpc

import (
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weft-hpc/weft/core"
	schedulerv1 "github.com/weft-hpc/weft/rpc/proto/weft/scheduler/v1"
)

// maxReply is how large a description may be that travels in a report: one that is larger would end the node's session.
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
	if d.err != nil {
		return core.SchedulerCall{}
	}
	return c
}

func encodeSchedulerReply(r *core.SchedulerReply) *schedulerv1.SchedulerReply {
	p := &schedulerv1.SchedulerReply{Id: r.ID, Job: encodeAnyJob(r.Job)}
	if n := proto.Size(p.Job); n > maxReply {
		p.Job = nil
		p.Error = encodeError(core.Errorf(core.InternalFault, "job %s: its description has %d bytes and may have %d", r.Job.Key, n, maxReply))
	}
	if r.Err != nil {
		p.Error = encodeError(r.Err)
	}
	return p
}

func (d *decoder) schedulerReply(p *schedulerv1.SchedulerReply) *core.SchedulerReply {
	if p == nil {
		return nil
	}
	r := &core.SchedulerReply{ID: p.GetId(), Job: d.anyJob(p.GetJob()), Err: local.fault(p.GetError())}
	if d.err != nil {
		return nil
	}
	return r
}
