package rpc

import (
	"google.golang.org/protobuf/proto"

	"github.com/weft-hpc/weft/core"
	corev1 "github.com/weft-hpc/weft/rpc/proto/weft/core/v1"
	schedulerv1 "github.com/weft-hpc/weft/rpc/proto/weft/scheduler/v1"
)

func encodeJob(j core.Job) *schedulerv1.Job {
	p := &schedulerv1.Job{
		Gid: j.GID, User: utf(j.User), Groups: every(j.Groups, utf), Account: utf(j.Account), Queue: utf(j.Queue), Name: text(j.Name),
		Placements: every(j.Placements, func(s core.Placement) *schedulerv1.Placement {
			return &schedulerv1.Placement{Hosts: utf(s.Hosts), Nodes: count(s.Nodes), Cores: count(s.Cores), Total: count(s.Total)}
		}),
		Request: encodeRequest(j.Request), Gone: j.Gone,
	}
	p.Qos, p.Reservation, p.Constraints = utfOf(j.QOS), utfOf(j.Reservation), utfOf(j.Constraints)
	p.TimeLimit = j.TimeLimit
	if j.Run != (core.Run{}) || !j.Gone {
		p.Run = encodeRun(j.Run)
	}
	return p
}

// encodeAnyJob leaves out a job that there is none of.
func encodeAnyJob(j *core.Job) *schedulerv1.Job {
	if j == nil {
		return nil
	}
	return encodeJob(*j)
}

func (d *decoder) anyJob(p *schedulerv1.Job) *core.Job {
	if p == nil {
		return nil
	}
	j := d.job(p)
	return &j
}

func (d *decoder) job(p *schedulerv1.Job) core.Job {
	j := core.Job{
		GID: d.uid(p.GetGid()), User: d.word("user", p.GetUser()),
		Groups:  each(d, "groups", p.GetGroups(), maxGroups, func(s string) string { return d.word("group", s) }),
		Account: d.word("account", p.GetAccount()), Queue: d.word("queue", p.GetQueue()), Name: text(p.GetName()),
		Placements: each(d, "placements", p.GetPlacements(), maxPlacements, func(s *schedulerv1.Placement) core.Placement {
			return core.Placement{
				Hosts: d.fit("hosts", s.GetHosts(), maxHosts), Nodes: d.count("nodes", s.GetNodes()),
				Cores: d.count("cores", s.GetCores()), Total: d.count("cores", s.GetTotal()),
			}
		}),
		Request: d.request(p.GetRequest()), Gone: p.GetGone(),
	}
	j.Told = core.Told{
		QOS: d.wordOf("QOS", p.Qos), Reservation: d.wordOf("reservation", p.Reservation),
		TimeLimit: p.TimeLimit, Constraints: d.wordOf("constraints", p.Constraints),
	}
	if j.TimeLimit != nil && *j.TimeLimit < 0 {
		d.fail("time limit: it is %d seconds", *j.TimeLimit)
	}
	if p.GetRun() != nil || !p.GetGone() {
		j.Run = d.run(p.GetRun())
	}
	return j
}

// utfOf leaves out a text that nobody told.
func utfOf(s *string) *string {
	if s == nil {
		return nil
	}
	return new(utf(*s))
}

func (d *decoder) wordOf(what string, s *string) *string {
	if s != nil {
		d.word(what, *s)
	}
	return s
}

func encodeRequest(r core.Request) *schedulerv1.Request {
	return &schedulerv1.Request{
		Off: r.Off, Vnis: count(r.VNIs), JobVni: r.JobVNI, SingleNode: r.SingleNode, Classes: uint32(r.Classes), Depth: count(r.Depth),
		Collectives: r.Collectives, Exact: r.Exact, Limits: encodeLimitRequests(r.Limits), Warnings: texts(r.Warnings),
	}
}

func (d *decoder) request(p *schedulerv1.Request) core.Request {
	return core.Request{
		Off: p.GetOff(), VNIs: d.count("VNIs", p.GetVnis()), JobVNI: p.GetJobVni(), SingleNode: p.GetSingleNode(),
		Classes: d.classes(p.GetClasses(), core.AllClasses), Depth: d.count("depth", p.GetDepth()), Collectives: p.GetCollectives(),
		Exact: p.GetExact(), Limits: d.limitRequests(p.GetLimits()), Warnings: each(d, "warnings", p.GetWarnings(), maxTexts, text),
	}
}

// packRequest is r as bytes, for messages of core.proto, which scheduler.proto imports. It is never nil.
func packRequest(r core.Request) []byte {
	b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(encodeRequest(r)) // its texts are UTF-8: no other error
	return append([]byte{}, b...)
}

func (d *decoder) packedRequest(b []byte) core.Request {
	p := &schedulerv1.Request{}
	if err := proto.Unmarshal(b, p); err != nil {
		d.fail("request: %w", err)
	}
	return d.request(p)
}

// encodeJobs cuts an answer into parts that fit into messages; one at least.
func encodeJobs(j core.Jobs) []*corev1.Jobs {
	part := func() *corev1.Jobs {
		return &corev1.Jobs{Asking: j.Asking, Complete: j.Complete, Silent: utf(j.Silent), Blind: utf(j.Blind)}
	}
	parts, size := []*corev1.Jobs{part()}, 0
	for _, s := range j.Jobs {
		if size >= partSize {
			parts, size = append(parts, part()), 0
		}
		p := encodeStatus(s)
		last := parts[len(parts)-1]
		last.Jobs = append(last.Jobs, p)
		size += proto.Size(p) + 4
	}
	return parts
}

func (d *decoder) jobs(p *corev1.Jobs) core.Jobs {
	if p.GetAsking() && (p.GetComplete() || len(p.GetJobs()) > 0) {
		d.fail("jobs: a question has no answer yet")
	}
	if p.GetBlind() != "" && (p.GetAsking() || p.GetComplete() || len(p.GetJobs()) > 0) {
		d.fail("jobs: a blind asker has no answer")
	}
	if p.GetSilent() != "" && (p.GetAsking() || p.GetComplete() || len(p.GetJobs()) > 0 || p.GetBlind() != "") {
		d.fail("jobs: a silent scheduler has no answer")
	}
	return core.Jobs{
		Asking: p.GetAsking(), Complete: p.GetComplete(),
		Jobs:   each(d, "jobs", p.GetJobs(), maxPart, d.status),
		Silent: core.OneLine(p.GetSilent(), ""), Blind: core.OneLine(p.GetBlind(), ""),
	}
}

func encodeStatus(s core.JobStatus) *corev1.JobStatus {
	return &corev1.JobStatus{Run: encodeRun(s.Run), State: corev1.JobState(s.State), Hosts: utf(s.Hosts), Started: s.Started}
}

func (d *decoder) status(p *corev1.JobStatus) core.JobStatus {
	s := core.JobStatus{Run: d.run(p.GetRun()), State: core.JobState(p.GetState()), Hosts: d.fit("hosts", p.GetHosts(), maxHosts), Started: p.GetStarted()}
	if p.GetState() < corev1.JobState(core.JobQueued) || p.GetState() > corev1.JobState(core.JobFinal) {
		d.fail("job %s: there is no state %d", s.Key, p.GetState())
	}
	return s
}

// gathering puts the parts of an answer together again.
type gathering struct {
	most int // bytes of all parts
	size int
	jobs core.Jobs
	part bool // more is to come
}

// add takes a part and reports whether the answer is whole.
func (g *gathering) add(d *decoder, p *corev1.Jobs, more bool) (core.Jobs, bool) {
	jobs := d.jobs(p)
	switch {
	case d.err != nil:
		return core.Jobs{}, false
	case g.part && (jobs.Asking != g.jobs.Asking || jobs.Complete != g.jobs.Complete || jobs.Silent != g.jobs.Silent || jobs.Blind != g.jobs.Blind):
		d.fail("jobs: a part belongs to another answer")
		return core.Jobs{}, false
	case !g.part:
		g.jobs, g.size = jobs, 0
	default:
		g.jobs.Jobs = append(g.jobs.Jobs, jobs.Jobs...)
	}
	if g.size += proto.Size(p); g.size > g.most || len(g.jobs.Jobs) > maxJobs {
		d.fail("jobs: an answer may have %d jobs and %d bytes", maxJobs, g.most)
		return core.Jobs{}, false
	}
	g.part = more
	if more {
		return core.Jobs{}, false
	}
	whole := g.jobs
	g.jobs = core.Jobs{}
	return whole, true
}
