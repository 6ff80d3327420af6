package node

import (
	"fmt"
	"slices"

	"github.com/weft-hpc/weft/core"
)

// reserved takes the server's answer.
func (m *Machine) reserved(in Reserved) {
	if s := m.asks[in.Attempt]; s != nil {
		m.reservedStep(s, in)
		return
	}
	r := m.end(in.Attempt, reserving)
	if r == nil {
		return
	}
	err := in.Err
	switch {
	case err != nil:
	case m.overlooked(r):
		if !r.cancelled && r.hook.Until > m.now {
			m.ask(r, r.hook)
			return
		}
		err = core.Errorf(core.ServerAway, "prepare of %v: the session in which it was granted has ended", r.Key)
	default:
		err = m.checkGrant(r, in.Grant)
	}
	if err != nil {
		if l := r.later; l != nil && !r.cancelled && l.Until > m.now && (err.Reason == core.TimedOut || err.Reason == core.ServerAway) {
			r.later = nil
			m.ask(r, *l)
			return
		}
		m.answer(r, err)
		m.drop(r)
		return
	}
	m.see(in.Grant.Head)
	r.later = nil
	if o := m.find(in.Grant.Run); o != nil {
		m.learn(o, r.hook, in.Grant.Drawn)
		m.merge(r, o)
		return
	}
	if m.tombs.has(in.Grant.Run) {
		m.answer(r, ended(in.Grant.Run, "it was cleaned up on this node, or the server said that it is gone"))
		m.drop(r)
		return
	}
	m.name(r, in.Grant.Key)
	r.Grant = in.Grant
	if r.cancelled || m.covers(r.Key.JobID, r.Began) {
		const why = "a clean-up of the job came while the server was asked"
		r.State = Making
		m.answer(r, core.Errorf(core.Cancelled, "prepare of %v: %s", r.Key, why)) // of a component: its het job's
		m.clean(r, why)
		return
	}
	m.supersede(r)
	m.learn(r, r.hook, in.Grant.Drawn)
	if !r.networked() {
		m.ready(r)
		return
	}
	r.State = Making
	m.watch(r)
	m.look(r)
}

// overlooked reports whether a full report has gone without r, which was asked for in an earlier session. The server may have lost its store in between,
// taken the report for all that this node holds, and given the VNIs to somebody else: only an answer to a new question counts. That session need not be
// the present one.
func (m *Machine) overlooked(r *holding) bool { return r.link < m.fullLink }

// checkGrant refuses what must not be acted upon. What the server holds for a grant that is refused here is cleaned by its own order.
func (m *Machine) checkGrant(r *holding, g core.Grant) *core.Error {
	switch {
	case !r.Key.Takes(g.Key):
		return core.Errorf(core.InternalFault, "prepare of %v: the server answered for %v", r.Key, g.Key)
	case g.UID != r.UID:
		return core.Errorf(core.NotAllowed, "prepare of %v: the hook says that uid %d owns the job, the scheduler says %d", r.Key, r.UID, g.UID)
	case len(g.VNIs) > core.MaxVNIs:
		return core.Errorf(core.InternalFault, "prepare of %v: the server granted %d VNIs, and a service carries at most %d", r.Key, len(g.VNIs), core.MaxVNIs)
	case g.Head.Store != "" && (m.session.store != "" && g.Head.Store != m.session.store || g.Head.Store == m.seen.Store && g.Head.Epoch < m.seen.Epoch):
		return core.Errorf(core.Recovering, "prepare of %v: the grant is of a store that has been replaced since", r.Key)
	}
	for i, v := range g.VNIs {
		if v == 0 || v.IsDefault() {
			return core.Errorf(core.InternalFault, "prepare of %v: the server granted VNI %d, which no job may have", r.Key, v)
		}
		if slices.Contains(g.VNIs[:i], v) {
			return core.Errorf(core.InternalFault, "prepare of %v: the server granted VNI %d twice", r.Key, v)
		}
	}
	return nil
}

// merge ends the asking r, whose grant turned out to be what o is for.
func (m *Machine) merge(r, o *holding) {
	switch {
	case r.cancelled:
	case o.State == Making:
		o.Began = max(o.Began, r.Began)
		o.waiters = append(o.waiters, r.waiters...)
		r.waiters = nil
	case o.State == Ready:
		if r.Began > o.Began {
			o.Began = r.Began
			m.write(o.Entry)
		}
		for _, w := range r.waiters {
			m.answerOne(w, o, nil)
		}
		r.waiters = nil
	default:
		m.answer(r, ended(o.Grant.Run, o.Why))
	}
	m.drop(r)
}

// supersede cleans what has r's key and is another job: the id recurred.
func (m *Machine) supersede(r *holding) {
	for _, o := range slices.Clone(m.jobs[r.Key.JobID]) {
		if o != r && o.Key == r.Key && (o.State == Making || o.State == Ready) {
			m.clean(o, fmt.Sprintf("its id was given to another job: uid %d, submitted at %d", r.Grant.UID, r.Grant.Submitted))
		}
	}
}

func ended(run core.Run, why string) *core.Error {
	return core.Errorf(core.JobEnded, "prepare of %v: this run of the job is over here: %s", run.Key, why)
}
