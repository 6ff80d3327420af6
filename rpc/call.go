package rpc

import (
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weft-hpc/weft/core"
	authorityv1 "github.com/weft-hpc/weft/rpc/proto/weft/authority/v1"
	schedulerv1 "github.com/weft-hpc/weft/rpc/proto/weft/scheduler/v1"
)

// maxReply is how large a description may be: one that is larger would end the node's session.
const maxReply = MaxAuthority - 64<<10

func encodeNodeCall(c core.SchedulerCall) *authorityv1.Call {
	p := &authorityv1.Call{Id: c.ID, Scheduler: utf(c.Scheduler), Within: int64(c.Within)}
	switch c.Verb {
	case core.CallDescribe:
		p.Verb = &authorityv1.Call_Describe{Describe: &schedulerv1.DescribeRequest{Key: encodeKey(c.Key), Note: c.Note, Caller: encodePeer(c.From)}}
	case core.CallFail:
		p.Verb = &authorityv1.Call_Fail{Fail: &schedulerv1.FailRequest{Key: encodeKey(c.Key), Reason: text(c.Reason)}}
	case core.CallRequeue:
		p.Verb = &authorityv1.Call_Requeue{Requeue: &schedulerv1.RequeueRequest{Key: encodeKey(c.Key), Reason: text(c.Reason)}}
	case core.CallAnnotate:
		var g core.Grant
		if c.Grant != nil {
			g = c.Grant.Shown()
		}
		p.Verb = &authorityv1.Call_Annotate{Annotate: &schedulerv1.AnnotateRequest{Key: encodeKey(c.Key), Grant: encodeGrant(g)}}
	case core.CallResume:
		p.Verb = &authorityv1.Call_Resume{Resume: &schedulerv1.ResumeRequest{Node: utf(c.Node)}}
	case core.CallDrain:
		p.Verb = &authorityv1.Call_Drain{Drain: &schedulerv1.DrainRequest{Node: utf(c.Node), Reason: text(c.Reason)}}
	}
	return p
}

// nodeCall of a verb that this release does not know has none: the agent says so, and goes on.
func (d *decoder) nodeCall(p *authorityv1.Call) core.SchedulerCall {
	c := core.SchedulerCall{ID: p.GetId(), Scheduler: d.name("scheduler", p.GetScheduler(), core.MaxScheduler), Within: time.Duration(p.GetWithin())}
	switch v := p.GetVerb().(type) {
	case *authorityv1.Call_Describe:
		c.Verb, c.Key, c.From = core.CallDescribe, d.key(v.Describe.GetKey()), d.peer(v.Describe.GetCaller())
		c.Note = d.bytes("note", v.Describe.GetNote(), core.MaxNote)
	case *authorityv1.Call_Fail:
		c.Verb, c.Key, c.Reason = core.CallFail, d.key(v.Fail.GetKey()), text(v.Fail.GetReason())
	case *authorityv1.Call_Requeue:
		c.Verb, c.Key, c.Reason = core.CallRequeue, d.key(v.Requeue.GetKey()), text(v.Requeue.GetReason())
	case *authorityv1.Call_Annotate:
		g := d.grant(v.Annotate.GetGrant()).Shown()
		c.Verb, c.Key, c.Grant = core.CallAnnotate, d.key(v.Annotate.GetKey()), &g
	case *authorityv1.Call_Resume:
		c.Verb, c.Node = core.CallResume, d.name("node", v.Resume.GetNode(), core.MaxNodeName)
	case *authorityv1.Call_Drain:
		c.Verb, c.Node, c.Reason = core.CallDrain, d.name("node", v.Drain.GetNode(), core.MaxNodeName), text(v.Drain.GetReason())
	}
	if d.err != nil {
		return core.SchedulerCall{}
	}
	return c
}

func encodeCallReply(r *core.SchedulerReply) *authorityv1.Reply {
	p := &authorityv1.Reply{Id: r.ID}
	if r.Job != nil {
		p.Job = encodeJob(*r.Job)
	}
	if n := proto.Size(p.Job); n > maxReply {
		p.Job = nil
		p.Error = encodeError(core.Errorf(core.InternalFault, "job %s: its description has %d bytes and may have %d", r.Job.Key, n, maxReply))
	}
	if r.Err != nil {
		p.Error = encodeError(r.Err)
	}
	return p
}

func (d *decoder) callReply(p *authorityv1.Reply) *core.SchedulerReply {
	if p == nil {
		return nil
	}
	r := &core.SchedulerReply{ID: p.GetId(), Err: local.fault(p.GetError())}
	if p.GetJob() != nil {
		job := d.job(p.GetJob())
		r.Job = &job
	}
	if d.err != nil {
		return nil
	}
	return r
}
