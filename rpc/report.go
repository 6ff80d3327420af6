package rpc

import (
	"github.com/weft-hpc/weft/core"
	authorityv1 "github.com/weft-hpc/weft/rpc/proto/weft/authority/v1"
	corev1 "github.com/weft-hpc/weft/rpc/proto/weft/core/v1"
)

// encodeReport cuts a forwarded answer into parts that fit into messages; whatever else is one.
func encodeReport(r core.Report) []*authorityv1.AttendRequest {
	p := &authorityv1.Report{
		Number: r.Number, Boot: utf(r.Boot), Agent: utf(r.Agent), Hardware: utf(r.Hardware), Seen: encodeHead(r.Seen), Full: r.Full, First: r.First, Devices: every(r.Devices, utf), Held: every(r.Held, encodeHeld),
		Blind: every(r.Blind, utf), Unusable: every(r.Unusable, utf), Unknown: every(r.Unknown, encodeService), Changed: r.Changed, Fault: text(r.Fault), Epilogs: every(r.Epilogs, encodeJobID),
		Unanswered: every(r.Unanswered, encodeUnanswered),
		Steps:      every(r.Steps, encodeStepHeld),
	}
	if r.Reply != nil {
		p.Reply = encodeSchedulerReply(r.Reply)
	}
	if r.Told != nil {
		p.Told = encodeNodeReply(r.Told)
	}
	if r.Answer == nil {
		return []*authorityv1.AttendRequest{{Report: p}}
	}
	parts := encodeJobs(r.Answer.Jobs)
	out := make([]*authorityv1.AttendRequest, len(parts))
	for i, jobs := range parts {
		if i > 0 {
			p = &authorityv1.Report{}
		}
		p.Answer = &authorityv1.Forward{Scheduler: utf(r.Answer.Scheduler), Ask: r.Answer.Ask, Jobs: jobs}
		out[i] = &authorityv1.AttendRequest{Report: p, More: i < len(parts)-1}
	}
	return out
}

// reports puts a node's messages together to reports.
type reports struct {
	gathering
	answer core.Forward
	whole  core.Report
}

// add takes a message and reports whether it completes a report.
func (g *reports) add(d *decoder, m *authorityv1.AttendRequest) (core.Report, bool) {
	p, first := m.GetReport(), !g.part
	switch a := p.GetAnswer(); {
	case p == nil:
		d.fail("report: the message has none")
		return core.Report{}, false
	case a == nil && (g.part || m.GetMore()):
		d.fail("report: a part of a scheduler's answer lacks it")
		return core.Report{}, false
	case a != nil && (p.GetReply() != nil || p.GetTold() != nil):
		d.fail("report: it has a scheduler's answer and a call's")
		return core.Report{}, false
	case first:
		g.whole = d.report(p)
		if a != nil {
			g.answer = core.Forward{Scheduler: d.name("scheduler", a.GetScheduler(), core.MaxScheduler), Ask: a.GetAsk()}
		}
	case a.GetScheduler() != g.answer.Scheduler || a.GetAsk() != g.answer.Ask:
		d.fail("report: a part belongs to another question")
		return core.Report{}, false
	}
	if p.GetAnswer() != nil {
		jobs, whole := g.gathering.add(d, p.GetAnswer().GetJobs(), m.GetMore())
		if !whole || d.err != nil {
			return core.Report{}, false
		}
		answer := g.answer
		answer.Jobs = jobs
		g.whole.Answer = &answer
	}
	if d.err != nil {
		return core.Report{}, false
	}
	return g.whole, true
}

// report without its answer.
func (d *decoder) report(p *authorityv1.Report) core.Report {
	return core.Report{
		Reply:  d.schedulerReply(p.GetReply()),
		Told:   d.nodeReply(p.GetTold()),
		Number: p.GetNumber(), Boot: d.word("boot id", p.GetBoot()), Agent: d.word("agent", p.GetAgent()), Hardware: d.word("hardware", p.GetHardware()), Seen: d.head(p.GetSeen()), Full: p.GetFull(), First: p.GetFirst(),
		Devices: each(d, "NICs", p.GetDevices(), maxDevices, d.device), Held: each(d, "runs", p.GetHeld(), maxHeld, d.held),
		Blind: each(d, "NICs", p.GetBlind(), maxDevices, d.device), Unusable: each(d, "NICs", p.GetUnusable(), maxDevices, d.device),
		Unknown: each(d, "services", p.GetUnknown(), maxServices, d.service), Changed: p.GetChanged(), Fault: text(p.GetFault()),
		Epilogs:    each(d, "epilogs", p.GetEpilogs(), maxHeld, func(p *corev1.JobID) core.JobID { return d.jobID(p.GetScheduler(), p.GetJob()) }),
		Unanswered: each(d, "absences of the agent", p.GetUnanswered(), core.MaxUnanswered, d.unanswered),
		Steps:      each(d, "steps", p.GetSteps(), maxHeld, d.stepHeld),
	}
}

func encodeUnanswered(u core.Unanswered) *authorityv1.Unanswered {
	return &authorityv1.Unanswered{Scheduler: utf(u.Scheduler), Why: text(u.Why), From: u.From, Until: u.Until}
}

func (d *decoder) unanswered(p *authorityv1.Unanswered) core.Unanswered {
	return core.Unanswered{
		Scheduler: d.name("scheduler", p.GetScheduler(), core.MaxScheduler), Why: text(p.GetWhy()), From: p.GetFrom(), Until: p.GetUntil(),
	}
}

func encodeHeld(h core.Held) *authorityv1.Held {
	return &authorityv1.Held{
		Run: encodeRun(h.Run), Gid: h.GID, Vnis: encodeVNIs(h.VNIs), State: authorityv1.HeldState(h.State), Services: every(h.Services, encodeService),
		Why: text(h.Why), Life: authorityv1.Life(h.Life),
		Warnings: texts(h.Warnings), Steps: count(h.Steps),
	}
}

func (d *decoder) held(p *authorityv1.Held) core.Held {
	h := core.Held{
		Run: d.run(p.GetRun()), GID: d.uid(p.GetGid()), VNIs: d.vnis(p.GetVnis(), core.MaxVNIs), State: core.HeldState(p.GetState()),
		Services: each(d, "services", p.GetServices(), maxServices, d.service), Why: text(p.GetWhy()),
		Life:     core.Life(p.GetLife()),
		Warnings: each(d, "warnings", p.GetWarnings(), maxTexts, text), Steps: d.count("VNIs of steps", p.GetSteps()),
	}
	if h.Steps > len(h.VNIs) {
		d.fail("job %s: steps draw from %d VNIs, and it has %d", h.Key, h.Steps, len(h.VNIs))
	}
	if p.GetLife() < 0 || p.GetLife() > authorityv1.Life(core.LifeSeen) {
		d.fail("job %s: there is no life %d", h.Key, p.GetLife())
	}
	if p.GetState() < authorityv1.HeldState(core.HeldPreparing) || p.GetState() > authorityv1.HeldState(core.HeldClean) {
		d.fail("job %s: there is no state %d", h.Key, p.GetState())
	}
	return h
}

func encodeOrders(o core.Orders) *authorityv1.Orders {
	return &authorityv1.Orders{
		Head: encodeHead(o.Head), Heard: o.Heard, Forget: every(o.Forget, encodeRun), Calls: every(o.Calls, encodeSchedulerCall), Inventory: every(o.Inventory, utf),
		Ran: every(o.Ran, func(r core.Ran) *authorityv1.Ran {
			return &authorityv1.Ran{Scheduler: utf(r.Scheduler), Jobs: every(r.Jobs, encodeStatus), Whole: r.Whole}
		}),
		Clean: every(o.Clean, func(c core.Clean) *authorityv1.Clean {
			return &authorityv1.Clean{Run: encodeRun(c.Run), Vnis: encodeVNIs(c.VNIs)}
		}),
		Vouch: every(o.Vouch, encodeRun), TwoHosts: text(o.TwoHosts), Drain: optionalDrain(o.Drain),
		Asks: every(o.Asks, encodeNodeAsk), Over: every(o.Over, encodeStepID),
	}
}

func optionalDrain(v *core.Drain) *corev1.Drain {
	if v == nil {
		return nil
	}
	return encodeDrain(*v)
}

func (d *decoder) orders(p *authorityv1.Orders) core.Orders {
	o := core.Orders{
		Head: d.head(p.GetHead()), Heard: p.GetHeard(), Forget: each(d, "runs", p.GetForget(), maxRuns, d.run),
		Calls: each(d, "calls", p.GetCalls(), core.MaxSchedulerCalls, d.schedulerCall), Inventory: each(d, "NICs", p.GetInventory(), maxDevices, d.device),
		Ran: each(d, "schedulers", p.GetRan(), maxTold, func(p *authorityv1.Ran) core.Ran {
			return core.Ran{Scheduler: d.name("scheduler", p.GetScheduler(), core.MaxScheduler), Jobs: each(d, "jobs", p.GetJobs(), core.MaxRan, d.status), Whole: p.GetWhole()}
		}),
		Clean: each(d, "runs", p.GetClean(), maxRuns, func(p *authorityv1.Clean) core.Clean {
			return core.Clean{Run: d.run(p.GetRun()), VNIs: d.vnis(p.GetVnis(), core.MaxVNIs)}
		}),
		Vouch: each(d, "runs", p.GetVouch(), maxRuns, d.run), TwoHosts: text(p.GetTwoHosts()),
		Asks: each(d, "asks", p.GetAsks(), core.MaxNodeAsks, d.nodeAsk), Over: each(d, "steps", p.GetOver(), maxRuns, d.stepID),
	}
	if p.GetDrain() != nil {
		drain := d.drain(p.GetDrain())
		o.Drain = &drain
	}
	return o
}
