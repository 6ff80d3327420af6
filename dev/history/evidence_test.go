package history

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

var ctx = context.Background()

// loaded begins the account of a server's process: it has evidence of nothing, and every quarantine begins anew.
func (l *law) loaded(m *engine.Machine, records []engine.Record) {
	l.live = map[uint64]*live{}
	now := l.w.srv.moment().Uptime
	for _, h := range l.held {
		l.live[h.Serial] = newLive(h, now)
	}
	for serial := range l.hearsay { // the end was not committed
		if h := l.held[serial]; h == nil || h.state == engine.Active {
			delete(l.hearsay, serial)
		}
	}
	for v := range m.Reservations(0) {
		if h := l.held[v.Serial]; h == nil || h.state != v.State {
			l.w.fail("R3: after a restart %v is %v, and the store's commits say otherwise: %+v", v.Job.Run, v.State, h)
		}
	}
	if got := len(slices.Collect(m.Reservations(0))); got != len(l.held) {
		l.w.fail("R3: after a restart there are %d reservations, of %d that were committed", got, len(l.held))
	}
}

func newLive(h *held, now time.Duration) *live {
	r := &live{
		run: h.Job.Run, vnis: taken(h.VNIs), state: h.state, unknown: h.Unknown, prepared: now, shown: -1, missed: -1, rested: now, shares: h.Job.Placements,
		holding: map[string]bool{}, vouches: map[string]vouch{},
	}
	for _, j := range h.joins {
		r.join(j)
	}
	return r
}

func (r *live) join(j engine.Join) {
	if j.Clean {
		delete(r.holding, j.Node)
	} else {
		r.holding[j.Node] = true
	}
}

// vouch notes what a node says of whether the run lives there.
func (r *live) vouch(node string, h core.Held, now time.Duration) {
	delete(r.vouches, node)
	if h.Life == core.LifeSeen && r.holding[node] {
		r.vouches[node] = vouch{at: now}
	}
}

// doubt says that a node was asked again, or that its session ended. Its word counts on for a while, but the alarm can
// begin meanwhile.
func (r *live) doubt(node string) {
	if v, ok := r.vouches[node]; ok {
		r.vouches[node] = vouch{v.at, true}
	}
}

// kept reports whether a node that holds r said that it lives there when it was asked last.
func (r *live) kept() bool {
	for node, v := range r.vouches {
		if r.holding[node] && !v.old {
			return true
		}
	}
	return false
}

// vouched reports whether a node that holds r said a while ago at most, and last, that it lives there. Later it may have
// been asked again without an answer.
func (l *law) vouched(r *live) bool {
	for node, v := range r.vouches {
		if r.holding[node] && l.w.srv.moment().Uptime-v.at < engine.DefaultRules.Vouch {
			return true
		}
	}
	return false
}

// left reports whether its nodes have shown that it is over.
func (r *live) left() bool { return r.hooked || len(r.holding) == 0 }

func taken(vnis []engine.Taken) []core.VNI {
	out := make([]core.VNI, len(vnis))
	for i, t := range vnis {
		out[i] = t.VNI
	}
	return out
}

// before finds what the input proves: which active reservations it allows to drain.
func (l *law) before(in engine.Input, now time.Duration) {
	l.may = l.may[:0]
	switch in := in.(type) {
	case engine.Answer:
		switch {
		case in.Jobs.Complete && !l.w.doubtful():
			l.asked = in.Began
			l.complete(in.Jobs.Jobs)
		case in.Jobs.Blind != "", l.w.doubtful(): // it hid jobs, and may have done so before
			for _, r := range l.live {
				r.lacks, r.alarmed = 0, 0
			}
		default:
			for _, r := range l.live {
				for _, s := range in.Jobs.Jobs {
					if s.Run == r.run && s.State == core.JobFinal {
						l.allow(r)
					}
				}
			}
		}
	case engine.Reserve:
		if in.Said == nil || in.Said.Err != nil || l.w.doubtful() {
			break
		}
		job := in.Said.Job
		for _, r := range l.live {
			older := r.run.Fingerprint != job.Fingerprint || r.run.Generation < job.Generation
			if r.run.JobID == job.JobID && r.run != job.Run && older && in.Said.Began > r.prepared {
				l.allow(r)
			}
		}
	case engine.Detach:
		for _, r := range l.live {
			r.doubt(in.Node)
		}
	case engine.Report:
		for _, r := range l.live {
			if in.Report.Full {
				r.doubt(in.Node)
			}
			if slices.Contains(in.Report.Epilogs, r.run.JobID) {
				r.hooked = true
			}
			for _, h := range in.Report.Held {
				if h.Run == r.run && h.Life != core.LifeUnsaid {
					r.vouch(in.Node, h, now)
				}
			}
		}
	case engine.Forget:
		for serial, r := range l.live {
			switch {
			case in.Vanished && r.lacks >= 2:
				l.allow(r)
			case !in.Vanished && (serial == in.Serial || in.Serial == 0 && r.run.JobID == in.Job):
				delete(l.hearsay, serial)
				l.allow(r)
				for _, v := range r.vnis { // an administrator says that they are free; the nodes may not agree
					l.excused[v] = true
				}
			}
		}
	}
}

func (l *law) allow(r *live) {
	for serial, o := range l.live {
		if o == r {
			l.may = append(l.may, serial)
		}
	}
}

// complete weighs a complete answer, by rule 8.
func (l *law) complete(jobs []core.JobStatus) {
	var lacking, lost []*live
	total, silent := 0, 0
	for _, r := range l.live {
		if r.unknown || r.state != engine.Active {
			continue
		}
		total++
		known, there, gone := false, false, false
		for _, s := range jobs {
			if s.JobID != r.run.JobID {
				continue
			}
			known = true
			switch {
			case s.Run == r.run && s.State == core.JobRunning:
				there = true
			case s.Run == r.run, s.Fingerprint != r.run.Fingerprint, s.Generation > r.run.Generation:
				gone = true
			}
		}
		switch {
		case there:
			r.lacks, r.alarmed, r.shown = 0, 0, max(r.shown, l.asked)
		case r.prepared >= l.asked: // it proves nothing against a prepare that is newer
		case gone:
			l.allow(r)
		case !known:
			if r.missed < l.asked { // the same answer told twice is one
				r.lacks, r.missed = r.lacks+1, l.asked
				lacking = append(lacking, r)
			}
			if r.lacks >= 2 {
				lost = append(lost, r)
				if !r.left() {
					silent++
				}
			}
		}
	}
	if l.w.trace != nil && len(lost) > 0 {
		l.w.say("of %d active runs %d are lacking for the second time, %d of them that are not clean and saw no clean-up hook", total, len(lost), silent)
	}
	mass := silent > 2 && silent*engine.DefaultRules.VanishShare > total
	for _, r := range lost {
		switch {
		case r.left():
			l.allow(r)
		case r.kept():
			r.alarmed = 0
		case r.alarmed == 0 && mass:
			r.alarmed = l.w.srv.moment().Uptime
		case (r.alarmed == 0 || l.asked-r.alarmed >= engine.DefaultRules.VanishWait) && !l.vouched(r):
			l.allow(r)
		}
	}
	for _, r := range lacking { // the server asks its nodes
		for node := range r.vouches {
			r.doubt(node)
		}
	}
}

// stepped judges what the server's machine made of an input.
func (l *law) stepped(in engine.Input, records []engine.Record, actions []engine.Action, now time.Duration) {
	var node engine.Node
	for _, rec := range records {
		switch rec := rec.(type) {
		case engine.Reservation:
			r := newLive(&held{Reservation: rec, state: engine.Active, joins: map[string]engine.Join{rec.First.Node: rec.First}}, now)
			if rec.Adopted {
				if l.over[rec.Job.Run] {
					l.may = append(l.may, rec.Serial)
				}
			}
			l.live[rec.Serial] = r
		case engine.Join:
			if r := l.live[rec.Serial]; r != nil {
				r.join(rec)
			}
		case engine.Transition:
			r := l.live[rec.Serial]
			if r == nil {
				l.w.fail("R2: a phase of no reservation: %+v", rec)
			}
			if r.state == engine.Active && rec.State != engine.Active && !r.unknown && !slices.Contains(l.may, rec.Serial) {
				l.w.fail("R8: %v is over (%s), and no answer has said so", r.run, rec.Why)
			}
			if rec.State == engine.Quarantined {
				r.rested = now
			}
			if r.state != engine.Active && rec.State == engine.Active {
				l.revive(r)
			}
			if r.state == engine.Active || rec.State == engine.Active {
				l.tell(in, rec)
			}
			r.state = rec.State
		case engine.Node:
			node = rec
		case engine.Delete:
			if rec.At.Table != engine.TableReservation {
				continue
			}
			if r := l.live[rec.At.Serial]; r != nil && now-r.rested < l.w.rest {
				l.w.fail("R2: %v is freed after %v of its quarantine", r.run, now-r.rested)
			}
			delete(l.live, rec.At.Serial)
		}
	}
	l.untold(node)
	reserve, _ := in.(engine.Reserve)
	for _, a := range actions {
		if g, ok := a.(engine.Granted); ok && len(g.Grant.VNIs) > 0 {
			l.judge(reserve, g.Grant, now)
		}
	}
	if reserve.Said != nil && reserve.Said.Err == nil && !reserve.Said.Job.Gone {
		if r := l.find(reserve.Said.Job.Run); r != nil {
			if standsRefused(actions) {
				r.lacks = 0
			}
			r.shown, r.alarmed = max(r.shown, reserve.Said.Began), 0
		}
	}
}

// standsRefused reports whether a job that has its network was refused a step, or a node whose unknown services are too
// many. The scheduler's word that the job runs came before.
func standsRefused(actions []engine.Action) bool {
	return slices.ContainsFunc(actions, func(a engine.Action) bool {
		r, ok := a.(engine.Refused)
		return ok && (strings.Contains(r.Err.What, "other steps use all VNIs") ||
			strings.Contains(r.Err.What, "its unknown services hold more than"))
	})
}

// judge holds a grant against what the server was told.
func (l *law) judge(in engine.Reserve, g core.Grant, now time.Duration) {
	w := l.w
	r := l.find(g.Run)
	switch {
	case r == nil || r.state != engine.Active:
		w.fail("R6: %v is granted to %s, and it is not active", g.Run, in.Node)
	case l.over[g.Run]:
		w.fail("R6: %v is granted to %s after it was over", g.Run, in.Node)
	case l.paired[in.Node]:
		w.fail("R2: %v is granted to %s while two hosts have its certificate", g.Run, in.Node)
	case w.srv.m.Recovering():
		w.fail("R1: %v is granted to %s while the store recovers", g.Run, in.Node)
	case !slices.Equal(r.vnis, g.VNIs):
		w.fail("R3: %v is granted VNIs %v, and it had %v", g.Run, g.VNIs, r.vnis)
	case in.Said == nil && (r.shown < 0 || now-r.shown > engine.DefaultRules.Fresh || !lists(r.shares, in.Node)):
		w.fail("R6: %v is granted to %s without asking, and the newest answer that shows it there is of %v, now %v", g.Run, in.Node, r.shown, now)
	case in.Said != nil && (in.Said.Job.Run != g.Run || in.Said.Job.Gone || !lists(in.Said.Job.Placements, in.Node)):
		w.fail("R6: %v is granted to %s against the scheduler's word %+v", g.Run, in.Node, in.Said.Job)
	}
	r.prepared, r.lacks, r.alarmed = now, 0, 0
}

func lists(shares []core.Placement, node string) bool {
	for _, s := range shares {
		if slices.Contains(strings.Split(s.Hosts, ","), node) {
			return true
		}
	}
	return false
}

func (l *law) find(run core.Run) *live {
	for _, r := range l.live {
		if r.run == run {
			return r
		}
	}
	return nil
}

// granted is asked when a grant leaves the server: it must be durable by then.
func (l *law) granted(c *call) {
	if len(c.grant.VNIs) == 0 {
		return
	}
	for _, h := range l.held {
		if h.Job.Run != c.grant.Run {
			continue
		}
		// The node may have confirmed by now, in the same commit; then it refuses the grant by its tombstone.
		if _, ok := h.joins[c.b.name]; ok && slices.Equal(taken(h.VNIs), c.grant.VNIs) {
			return
		}
	}
	l.w.fail("R3: %v is granted to %s, and the store does not have it", c.grant.Run, c.b.name)
}
