package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
)

// drain says that r's job is gone: its nodes are ordered to clean, and nothing joins it any more.
func (m *Machine) drain(r *reservation, why string) {
	if r.state != Active {
		return
	}
	delete(m.watch(r.Job.Scheduler).active, r.Serial)
	m.closing[r.Serial] = r
	m.setPhase(r, Draining, why)
	m.do(Say{Run: r.Job.Run, VNIs: r.vnis(), Text: "draining: " + why})
	m.orderAll(r)
	m.settleNodes(r)
}

// settleNodes moves r on when its nodes allow it: all clean starts the quarantine, one too long busy or away shows it as held.
func (m *Machine) settleNodes(r *reservation) {
	if r.state != Draining && r.state != Held {
		return
	}
	if r.unclean == 0 {
		m.rest(r)
		return
	}
	why := m.stuck(r)
	switch {
	case why != "" && (r.state == Draining || r.why != why):
		if r.state == Draining {
			m.count(r, -1)
			m.do(Say{Level: Warn, Run: r.Job.Run, VNIs: r.vnis(), Text: "held: " + why})
		}
		m.setPhase(r, Held, why)
	case why == "" && r.state == Held && !r.Unknown:
		m.count(r, 1)
		m.setPhase(r, Draining, "its nodes are back")
	}
}

// stuck says which nodes keep r from being clean for too long; empty: none does.
func (m *Machine) stuck(r *reservation) string {
	if r.Unknown {
		return r.why
	}
	var away, busy []string
	for name, j := range r.joins {
		switch {
		case j.clean:
		case !j.node.attached && m.now.Run-j.node.lost >= m.rules.Away:
			away = append(away, name)
		case j.node.attached && j.busy > 0 && m.now.Run-j.busy >= m.rules.Busy:
			busy = append(busy, name)
		}
	}
	var parts []string
	if len(away) > 0 {
		parts = append(parts, "out of contact: "+few(away))
	}
	if len(busy) > 0 {
		parts = append(parts, "busy: "+few(busy))
	}
	return strings.Join(parts, "; ")
}

// few names the first of many, in order.
func few(names []string) string {
	slices.Sort(names)
	if len(names) > 8 {
		return strings.Join(names[:8], ",") + " and more"
	}
	return strings.Join(names, ",")
}

// rest begins the quarantine. It counts running time from now; a restart begins it anew.
func (m *Machine) rest(r *reservation) {
	if r.state == Draining {
		m.count(r, -1)
	}
	delete(m.closing, r.Serial)
	m.setPhase(r, Quarantined, "every node is clean")
	m.resting = append(m.resting, r)
	m.do(Say{Run: r.Job.Run, VNIs: r.vnis(), Text: "quarantined"})
}

// rouse takes r out of quarantine: a node shows that it still holds it.
func (m *Machine) rouse(r *reservation, why string) {
	m.resting = without(m.resting, r)
	m.closing[r.Serial] = r
	m.count(r, 1)
	m.setPhase(r, Draining, why)
}

// free returns r's VNIs to their pools and forgets it but for its tombstone.
func (m *Machine) free(r *reservation) {
	for _, t := range r.VNIs {
		m.alloc.Give(t.VNI)
		if m.holders[t.VNI] = without(m.holders[t.VNI], r); len(m.holders[t.VNI]) == 0 {
			delete(m.holders, t.VNI)
		}
	}
	delete(m.serials, r.Serial)
	if m.runs[r.Job.Run] == r {
		delete(m.runs, r.Job.Run)
	}
	if m.jobs[r.Job.JobID] = without(m.jobs[r.Job.JobID], r); len(m.jobs[r.Job.JobID]) == 0 {
		delete(m.jobs, r.Job.JobID)
	}
	m.write(Delete{r.Slot()})
	if h := r.Grant.Policy; h != "" {
		if m.texts[h]--; m.texts[h] <= 0 {
			delete(m.texts, h)
			m.write(Delete{Text{Hash: h}.Slot()})
		}
	}
	if !r.Unknown {
		m.write(Tombstone{r.Serial, r.Job.Run})
		m.bury(r.Serial, r.Job.Run)
	}
	m.do(Say{Run: r.Job.Run, VNIs: r.vnis(), Text: "freed"})
}

// bury remembers that run is over; the oldest tombstone goes when there are too many.
func (m *Machine) bury(serial uint64, run core.Run) {
	m.ended[run] = serial
	m.endedRun[serial] = run
	m.endedAt = append(m.endedAt, serial)
	if len(m.endedAt) <= MaxTombstones {
		return
	}
	old := m.endedAt[0]
	m.endedAt = m.endedAt[1:]
	if run, ok := m.endedRun[old]; ok {
		if m.ended[run] == old {
			delete(m.ended, run)
		}
		delete(m.endedRun, old)
		m.write(Delete{Tombstone{Serial: old}.Slot()})
	}
}

func (m *Machine) isEnded(run core.Run) bool {
	_, ok := m.ended[run]
	return ok
}

func (m *Machine) setPhase(r *reservation, s State, why string) {
	r.state, r.why, r.since = s, why, m.now.Wall
	if s == Draining || s == Quarantined {
		r.entered = m.now.Run
	}
	m.write(Phase{r.Serial, s, m.now.Wall, why})
}

// quarantine is how long r rests: the longest that its pools ask for.
func (m *Machine) quarantine(r *reservation) time.Duration {
	longest := time.Duration(-1)
	for _, t := range r.VNIs {
		q := m.rules.Quarantine
		if p := m.pools[t.Pool]; p != nil {
			q = p.Quarantine
		}
		longest = max(longest, q)
	}
	return max(longest, 0)
}

// without is list with r taken out.
func without(list []*reservation, r *reservation) []*reservation {
	return slices.DeleteFunc(list, func(o *reservation) bool { return o == r })
}
