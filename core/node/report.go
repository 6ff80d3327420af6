package node

import (
	"slices"

	"github.com/weft-hpc/weft/core"
)

// session is the link to the server, and what it is still to be told.
type session struct {
	up      bool
	from    Attempt     // surveys that began after the session did have higher numbers
	ready   bool        // one of them is there
	full    bool        // the full report has been told
	number  uint64      // of the last report
	store   string      // whose orders came in this session
	drain   *core.Drain // why the node is out of service, by the server's word; nil: a server of an older release says none
	dirty   []*holding
	clean   []core.Held  // confirmed without a record
	changed bool         // devices or unknown services
	epilogs []core.JobID // kept while there is no session
	over    []core.StepHeld
}

// maxEpilogs bounds the clean-up hooks that are remembered for the next report; the oldest go first. They only help the server to judge.
const maxEpilogs = 1024

// link begins or ends a session.
func (m *Machine) link(up bool) {
	m.session = session{up: up, from: m.attempt, epilogs: m.session.epilogs}
	for _, r := range m.runs {
		r.dirty, r.life = false, core.LifeUnsaid
	}
	if up {
		m.links++
		m.survey.failing = 0
		m.want()
		m.due = min(m.due, m.overdue())
	}
}

// changed has the server told of a run.
func (m *Machine) changed(r *holding) {
	if r.networked() && !r.dirty && m.session.full {
		r.dirty = true
		m.session.dirty = append(m.session.dirty, r)
	}
}

// epilog remembers that a clean-up hook of the job was seen.
func (m *Machine) epilog(job core.JobID) {
	e := m.session.epilogs
	if slices.Contains(e, job) {
		return
	}
	if len(e) >= maxEpilogs {
		e = slices.Delete(e, 0, 1)
	}
	m.session.epilogs = append(e, job)
}

// flush tells the server what is new.
func (m *Machine) flush() {
	s := &m.session
	if !s.up {
		return
	}
	if !s.full {
		if s.ready {
			m.tellAll()
		}
		return
	}
	if len(s.over) == 0 && len(s.dirty) == 0 && len(s.clean) == 0 && !s.changed && len(s.epilogs) == 0 && !m.fault.untold {
		return
	}
	held := make([]core.Held, 0, len(s.dirty)+len(s.clean))
	for _, r := range s.dirty {
		if r.dirty { // else it is forgotten already
			r.dirty = false
			held = append(held, r.held())
			r.life = core.LifeUnsaid
		}
	}
	m.tell(core.Report{Held: append(held, s.clean...), Changed: s.changed, Steps: s.over})
}

// tellAll is the first report of a session.
func (m *Machine) tellAll() {
	var held []core.Held
	for _, r := range m.runs {
		if r.State != Asking && r.networked() {
			held = append(held, r.held())
		}
	}
	m.session.full, m.fullLink = true, m.links
	m.tell(core.Report{Full: true, Held: append(held, m.session.clean...), Steps: m.heldSteps()})
}

func (m *Machine) tell(r core.Report) {
	s := &m.session
	s.number++
	r.Number, r.Boot, r.Seen, r.Epilogs = s.number, m.cfg.Boot, m.seen, s.epilogs
	switch v := &m.survey; {
	case !r.Full && !r.Changed:
	case v.unread != nil:
		r.Fault = v.unread.Line()
	default:
		r.Devices, r.Blind, r.Unusable, r.Unknown = v.devices, v.blind, v.useless, v.unknown
		if v.doubted = len(v.suspect) > 0; v.doubted { // else the server takes a suspect on a NIC that came back for gone
			r.Blind = slices.Clone(r.Blind)
			for _, t := range v.suspect {
				r.Blind = append(r.Blind, t.Device)
			}
			slices.Sort(r.Blind)
			r.Blind = slices.Compact(r.Blind)
		}
	}
	if m.fault.untold && r.Fault == "" {
		r.Fault, m.fault.untold = m.fault.reason, false
	}
	s.dirty, s.clean, s.epilogs, s.changed, s.over = nil, nil, nil, false, nil
	m.act(Tell{r})
}

// Untold reports whether the server has still to learn that a run is clean.
func (m *Machine) Untold() bool {
	return slices.ContainsFunc(m.runs, func(r *holding) bool { return r.State == Clean && r.networked() })
}

// held is the run as the server is told of it.
func (r *holding) held() core.Held {
	h := core.Held{Run: r.Grant.Run, GID: r.Grant.GID, VNIs: r.Grant.VNIs, Services: r.Services, Warnings: r.warnings()}
	h.Life, h.Steps = r.life, r.Grant.Steps
	switch r.State {
	case Ready:
		h.State = core.HeldReady
	case Cleaning:
		h.State, h.Why = core.HeldCleaning, r.waits
		if r.busy {
			h.State = core.HeldBusy
		}
		if h.Why == "" {
			h.Why = r.Why
		}
	case Clean:
		h.State = core.HeldClean
	default:
		h.State = core.HeldPreparing
	}
	return h
}
