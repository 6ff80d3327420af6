package node

import (
	"slices"

	"github.com/weft-hpc/weft/core"
)

// sight holds the newest reading, of a survey or of a run, and the tasks that wait for a newer one.
type sight struct {
	attempt Attempt // 0: the NICs have not been read yet
	signs   []core.Sign
	doubts  []doubt
}

// doubt is an Environment that waits for a reading that begins after.
type doubt struct {
	Hook
	after Attempt
}

// Signs hold for as long as no NIC has restarted since the newest reading; before the first one, since the jobs were
// planned.
func (m *Machine) Signs() []core.Sign {
	if m.sight.attempt > 0 {
		return m.sight.signs
	}
	var signs []core.Sign
	for _, r := range m.runs {
		signs = append(signs, r.signs()...)
	}
	return signs
}

func (r *holding) signs() (signs []core.Sign) {
	for i := range r.Places {
		if r.Places[i].Sign != (core.Sign{}) {
			signs = append(signs, r.Places[i].Sign)
		}
	}
	return signs
}

// doubt reads the NICs before it answers a task whose services may have ended.
func (m *Machine) doubt(h Hook) {
	h.Doubt = false
	m.sight.doubts = append(m.sight.doubts, doubt{h, m.attempt})
	m.due = min(m.due, h.Until)
	m.want()
}

// sighted takes in a reading of a survey or of a run.
func (m *Machine) sighted(in Read) {
	s := &m.sight
	if in.Err == nil && in.Attempt > s.attempt {
		s.attempt, s.signs = in.Attempt, nil
		for i := range in.Devices {
			if sign := in.Devices[i].Sign; sign != (core.Sign{}) {
				s.signs = append(s.signs, sign)
			}
		}
		m.missed(in.Attempt, in)
	}
	doubts := s.doubts
	s.doubts = nil
	for _, d := range doubts {
		switch {
		case d.after >= in.Attempt:
			s.doubts = append(s.doubts, d)
		case in.Err != nil:
			m.unsure(d, in.Err)
		default:
			m.environment(d.Hook)
		}
	}
}

func (m *Machine) expireDoubts() {
	m.sight.doubts = slices.DeleteFunc(m.sight.doubts, func(d doubt) bool {
		if d.Until > m.now {
			return false
		}
		m.unsure(d, core.Errorf(core.DriverAway, "the NIC driver has not answered"))
		return true
	})
}

// unsure refuses a task whose services may have ended.
func (m *Machine) unsure(d doubt, err *core.Error) {
	const what = "environment of %v: a NIC has restarted, and nothing shows which services are left: %w"
	m.refuse(d.Hook, core.Errorf(err.Reason, what, d.Ask.Key.JobID, err).WithRemedy(err.Remedy))
}
