package node

import (
	"slices"

	"github.com/weft-hpc/weft/core"
)

// EnvVNIs is the variable of a job's tasks by which a process is known to be of the job.
const EnvVNIs = envVNIs

// witness is the reading by which the node answers whether runs live here. There is one at a time, so that one that
// hangs makes no second.
type witness struct {
	attempt Attempt // under way; 0: none
	asked   map[core.Run]bool
	next    map[core.Run]bool // asked since it began
}

// vouch looks whether runs live here, as the server asks. The node knows only of runs that it has in its ledger.
func (m *Machine) vouch(runs []core.Run) {
	for _, run := range runs {
		if r := m.find(run); r != nil && r.mayLive() {
			if m.witness.next == nil {
				m.witness.next = map[core.Run]bool{}
			}
			m.witness.next[run] = true
		}
	}
	m.beginWitness()
}

func (r *holding) mayLive() bool { return r.networked() && (r.State == Making || r.State == Ready) }

func (m *Machine) beginWitness() {
	w := &m.witness
	if w.attempt != 0 || len(w.next) == 0 {
		return
	}
	m.attempt++
	w.attempt, w.asked, w.next = m.attempt, w.next, nil
	var uids []uint32
	for _, r := range m.runs {
		if w.asked[r.Grant.Run] && !slices.Contains(uids, r.Grant.UID) {
			uids = append(uids, r.Grant.UID)
		}
	}
	m.act(Witness{Attempt: w.attempt, UIDs: uids})
}

// witnessed answers for the runs of the reading. A failed reading proves no run dead.
func (m *Machine) witnessed(in Witnessed) {
	w := &m.witness
	if in.Attempt != w.attempt {
		return
	}
	for _, r := range m.runs {
		switch {
		case !w.asked[r.Grant.Run] || !r.mayLive():
			continue
		case lives(r, in):
			r.life = core.LifeSeen
		case in.Err == nil:
			r.life = core.LifeNone
		}
		m.changed(r)
	}
	w.attempt, w.asked = 0, nil
	m.beginWitness()
}

// lives reports whether a process of the run's user has its VNIs, or an application uses one of its services.
func lives(r *holding, in Witnessed) bool {
	own := func(p Process) bool { return p.UID == r.Grant.UID && r.shows(p.VNIs) }
	return slices.ContainsFunc(in.Processes, own) || slices.ContainsFunc(in.Services, func(s core.Service) bool {
		return s.InUse != [core.NumResources]uint16{} && mine(r, &s)
	})
}
