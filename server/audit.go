package server

import (
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// The audit answers, years later: who had this VNI then, who was refused what and why, whose word took it away. It is written from what became durable,
// and nothing in it is a secret. Its events are the messages of its lines; the operators' verbs (forget, drain, resume, recover, accept) are events of
// their own name, those that were refused too.
const (
	auditGrant  = "grant"  // a reservation was made; further nodes that join it are in no line
	auditDeny   = "deny"   // the job asked for what it cannot have
	auditRefuse = "refuse" // Weft could not serve
	auditAdopt  = "adopt"  // a node holds what the store did not know of
	auditDrain  = "drain"  // a node went out of service: by its own report, or by an operator
	auditForget = "forget" // a line for each reservation
	auditFree   = "free"   // VNIs went back to their pools
	auditDraw   = "draw"   // a step of a job has drawn one of its VNIs
	auditReturn = "return" // the step is over, and the VNI its job's again
)

// who names the caller of a prepare: the hook on its node.
func who(in engine.Reserve) []any {
	return append(in.Peer.Audited(in.Ask.Call, in.Peer.Right(in.Ask.UID)), core.LogNode, in.Node)
}

// audit tells of one Step that is durable.
func (s *Server) audit(d done) {
	switch in := d.in.(type) {
	case engine.Reserve:
		s.auditReserve(in, d)
	case engine.Report:
		s.auditReport(in, d)
	case engine.Tick:
		s.auditFreed(d)
	}
	for _, a := range d.actions {
		if a, ok := a.(engine.Drew); ok {
			s.auditDrawn(a)
		}
	}
}

func (s *Server) auditDrawn(a engine.Drew) {
	event := auditDraw
	if a.Over {
		event = auditReturn
	}
	s.auditor.Info(event, core.LogNode, a.Node, core.LogJob, a.Step.Key.String(), core.LogOwner, a.Step.UID,
		core.LogStep, a.Step.Step, core.LogVNI, core.VNIRanges([]core.VNI{a.VNI}))
}

func (s *Server) auditReserve(in engine.Reserve, d done) {
	for _, a := range d.actions {
		if r, ok := a.(engine.Refused); ok && r.Err.Reason != core.Observed {
			event := auditRefuse
			if r.Err.Scope() == core.ScopeJob {
				event = auditDeny
			}
			s.auditor.Info(event, append(who(in), core.LogJob, in.Ask.Key.String(), core.LogOwner, in.Ask.UID,
				core.LogReason, string(r.Err.Reason), core.LogError, r.Err.What)...)
		}
	}
	for _, rec := range d.records {
		if r, ok := rec.(engine.Reservation); ok {
			s.auditor.Info(auditGrant, append(who(in), core.LogJob, r.Job.Key.String(), core.LogOwner, r.Job.UID,
				core.LogVNI, core.VNIRanges(engine.VNIsOf(r.VNIs)), core.LogPolicy, r.Grant.Policy)...)
		}
	}
}

func (s *Server) auditReport(in engine.Report, d done) {
	for _, rec := range d.records {
		r, ok := rec.(engine.Reservation)
		switch {
		case !ok:
		case r.Unknown:
			s.auditor.Info(auditAdopt, core.LogNode, in.Node, core.LogOwner, r.Job.UID, core.LogVNI, core.VNIRanges(engine.VNIsOf(r.VNIs)),
				core.LogWhy, "a service that Weft did not make holds VNIs of its pools")
		case r.Adopted:
			s.auditor.Info(auditAdopt, core.LogNode, in.Node, core.LogJob, r.Job.Key.String(), core.LogOwner, r.Job.UID, core.LogVNI, core.VNIRanges(engine.VNIsOf(r.VNIs)),
				core.LogWhy, "the node holds a run that the store does not know")
		}
	}
	for _, a := range d.actions {
		if a, ok := a.(engine.Drain); ok {
			s.auditor.Info(auditDrain, core.LogNode, a.Node, core.LogWhy, a.Reason)
		}
	}
}

// auditFreed tells of the quarantines that a tick ended.
func (s *Server) auditFreed(d done) {
	over := map[core.Run]bool{}
	for _, rec := range d.records {
		if t, ok := rec.(engine.Tombstone); ok {
			over[t.Run] = true
		}
	}
	if len(over) == 0 {
		return
	}
	for _, a := range d.actions {
		if a, ok := a.(engine.Say); ok && over[a.Run] && len(a.VNIs) > 0 {
			s.auditor.Info(auditFree, core.LogJob, a.Run.Key.String(), core.LogOwner, a.Run.UID, core.LogVNI, core.VNIRanges(a.VNIs))
			delete(over, a.Run)
		}
	}
}
