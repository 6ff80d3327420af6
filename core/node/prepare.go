package node

import (
	"slices"

	"github.com/weft-hpc/weft/core"
)

// prepare begins, or joins, the making of a job's services.
func (m *Machine) prepare(h Hook) {
	key := h.Ask.Key
	if err := m.mayPrepare(h); err != nil {
		m.refuse(h, err)
		return
	}
	if m.covers(key.JobID, h.Ask.Began) {
		m.refuse(h, core.Errorf(core.JobEnded, "prepare of %v: a clean-up of the job that began later was here first", key))
		return
	}
	if r := m.newest(key); r != nil && r.UID == h.Ask.UID && !r.cancelled {
		switch {
		case r.State == Asking || r.State == Making:
			m.wait(r, h)
			return
		case r.State == Ready && (h.Ask.Joins || r.Began == h.Ask.Began && r.Began != 0): // or the hook tried again
			m.answerOne(waiter{call: h.Call, key: key, step: stepOf(h)}, r, nil)
			return
		}
	}
	if m.survey.unread != nil {
		m.refuse(h, m.survey.unread)
		return
	}
	if h.Until <= m.now {
		m.refuse(h, late(key))
		return
	}
	if len(m.runs) >= m.cfg.MaxRuns {
		m.refuse(h, core.Errorf(core.Overloaded, "prepare of %v: this node holds %d runs that are not over or not yet acknowledged by the server", key, len(m.runs)))
		return
	}
	r := &holding{
		Entry:  Entry{ID: m.nextID(), Key: key, UID: h.Ask.UID, Began: h.Ask.Began, State: Asking},
		origin: h.Ask.Call, retry: never, drainAt: never,
	}
	m.add(r)
	m.wait(r, h)
	m.ask(r, h)
}

// ask the server.
func (m *Machine) ask(r *holding, h Hook) {
	ask := h.Ask
	ask.Boot = m.cfg.Boot
	r.patience, r.hook, r.link = h.Until, h, m.links
	m.act(Reserve{Attempt: m.start(r, reserving), Ask: ask, Peer: h.Peer, Until: h.Until})
}

// mayPrepare judges the call itself.
func (m *Machine) mayPrepare(h Hook) *core.Error {
	if err := core.CheckJobID(h.Ask.Key.Job); err != nil {
		return core.AsError(err)
	}
	if h.Ask.UID == core.NoUID {
		return core.Errorf(core.BadCall, "prepare of %v: uid %d: it is nobody's, and no NIC would take it", h.Ask.Key, h.Ask.UID)
	}
	if h.Peer.Root() || h.Peer.UID == h.Ask.UID && m.selfService(h.Ask.Key) {
		return nil
	}
	return core.Errorf(core.NotAllowed, "prepare of %v: uid %d may not do it for uid %d", h.Ask.Key, h.Peer.UID, h.Ask.UID)
}

func (m *Machine) selfService(k core.Key) bool {
	return slices.Contains(m.cfg.SelfService, k.Scheduler)
}

// newest run of the key.
func (m *Machine) newest(key core.Key) *holding {
	for _, r := range slices.Backward(m.jobs[key.JobID]) {
		if r.Key == key || key.Generation == core.AnyGeneration {
			return r
		}
	}
	return nil
}

func late(key core.Key) *core.Error {
	return core.Errorf(core.TimedOut, "prepare of %v: the hook's time limit has passed; what was begun goes on, for the hook's next try", key)
}
