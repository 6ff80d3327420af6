package node

import "time"

// fault is why the node should take no job, as last said.
type fault struct {
	reason string
	at     time.Duration
	newest uint64 // the ID given last by then
	untold bool
}

// blame takes the node out of service, and reads its NICs anew for the report: who finds the node drained looks there next. The same reason is not said
// to the scheduler again for a while: it stands in its record already.
func (m *Machine) blame(reason string) {
	if m.survey.unread != nil { // it is out of service already, and comes back by itself
		return
	}
	if m.fault.reason == reason && m.now-m.fault.at < m.cfg.BusyDrain {
		m.fault.untold, m.fault.newest = true, m.id // the server may have resumed the node meanwhile; it drains only what is not
		return
	}
	m.fault = fault{reason: reason, at: m.now, newest: m.id, untold: true}
	m.session.drain = nil // until the server has heard of it
	m.act(Drain{Reason: reason})
	m.want()
}

// absolve ends a fault once a run that began later is ready. The server grants no new job to a node that is out of service.
func (m *Machine) absolve(r *holding) {
	if r.networked() && r.ID > m.fault.newest && !m.fault.untold {
		m.fault = fault{}
	}
}
