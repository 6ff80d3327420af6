package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
)

// drain says that r's job is gone: its nodes are ordered to clean, and nothing joins it any more. By is as in Transition.
func (m *Machine) drain(r *reservation, why, by string) {
	if r.state != Active {
		return
	}
	r.by = by
	delete(m.watch(r.Job.Scheduler).active, r.Serial)
	m.closing[r.Serial] = r
	m.setState(r, Draining, why)
	m.do(Say{Run: r.Job.Run, VNIs: r.vnis(), Text: "draining: " + why})
	m.orderAll(r)
	for _, j := range r.joins.list {
		m.mark(j, m.judge(j))
	}
	m.settle(r)
}

// settle moves r on when its nodes allow it: all clean starts the quarantine, one too long busy or away shows it as held.
func (m *Machine) settle(r *reservation) {
	switch {
	case r.state != Draining && r.state != Held:
	case r.unclean == 0:
		m.rest(r)
	case r.Unknown:
	case r.stuck > 0 && r.state == Draining:
		m.uncount(r)
		r.stale = false
		m.setState(r, Held, r.stuckWhy())
		m.do(Say{Level: Warn, Run: r.Job.Run, VNIs: r.vnis(), Text: "held: " + r.why})
	case r.stuck == 0 && r.state == Held:
		m.count(r)
		m.setState(r, Draining, "its nodes are back")
	}
}

// retell writes anew which nodes hold r. It looks at all of them, so only a tick does it.
func (m *Machine) retell(r *reservation) {
	r.stale = false
	if why := r.stuckWhy(); r.state == Held && !r.Unknown && why != r.why {
		r.why = why
		m.write(r.transition())
	}
}

// stuckWhy says which nodes keep r from being clean for too long.
func (r *reservation) stuckWhy() string {
	var away, busy, twin []string
	for _, j := range r.joins.list {
		switch j.stuck {
		case stuckAway, stuckBefore:
			away = append(away, j.node.Name)
		case stuckBusy:
			busy = append(busy, j.node.Name)
		case stuckTwin:
			twin = append(twin, j.node.Name)
		case notStuck:
		}
	}
	var parts []string
	if len(away) > 0 {
		parts = append(parts, "out of contact: "+few(away))
	}
	if len(busy) > 0 {
		parts = append(parts, "busy: "+few(busy))
	}
	if len(twin) > 0 {
		parts = append(parts, "two hosts had its certificate: "+few(twin))
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
		m.uncount(r)
	}
	delete(m.closing, r.Serial)
	r.steps = nil
	m.setState(r, Quarantined, "every node is clean")
	m.resting = append(m.resting, r)
	m.do(Say{Run: r.Job.Run, VNIs: r.vnis(), Text: "quarantined"})
}

// rouse takes r out of quarantine: a node shows that it still holds it.
func (m *Machine) rouse(r *reservation, why string) {
	m.resting = without(m.resting, r)
	m.closing[r.Serial] = r
	m.count(r)
	m.setState(r, Draining, why)
}

// revive takes back that r's job is gone.
func (m *Machine) revive(r *reservation, why string) {
	if r.state == Held {
		m.count(r)
	}
	delete(m.closing, r.Serial)
	m.watch(r.Job.Scheduler).active[r.Serial] = r
	r.prepared, r.missing, r.vanished, r.hooked, r.by = m.now.Uptime, 0, 0, false, ""
	m.setState(r, Active, why)
	m.do(Say{Level: Warn, Run: r.Job.Run, VNIs: r.vnis(), Text: "active again: " + why})
}

// free returns r's VNIs to their pools and forgets it but for its tombstone.
func (m *Machine) free(r *reservation) {
	for _, t := range r.VNIs {
		m.alloc.Give(t.VNI)
		m.holders[t.VNI] = without(m.holders[t.VNI], r)
	}
	delete(m.serials, r.Serial)
	if len(m.order) > len(m.serials)+len(m.serials)/8+64 {
		m.order = slices.DeleteFunc(m.order, func(s uint64) bool { return m.serials[s] == nil })
	}
	m.leave(r)
	m.write(Delete{r.Slot()})
	if h := r.Grant.Policy; h != "" {
		if m.texts[h]--; m.texts[h] <= 0 {
			delete(m.texts, h)
			m.drop(h)
		}
	}
	if !r.Unknown {
		m.write(Tombstone{r.Serial, r.Job.Run})
		m.bury(Tombstone{r.Serial, r.Job.Run})
	}
	m.do(Say{Run: r.Job.Run, VNIs: r.vnis(), Text: "freed"})
}

// grave is a run that is over.
type grave struct {
	serial uint64
	at     time.Duration // since when, of the running time; 0: this process found it so
}

// bury remembers that a run is over; the oldest tombstone goes when there are too many.
func (m *Machine) bury(t Tombstone) {
	m.ended[t.Run] = grave{t.Serial, m.now.Uptime}
	m.endedAt = append(m.endedAt, t)
	if len(m.endedAt) <= MaxTombstones {
		return
	}
	old := m.endedAt[0]
	m.endedAt = m.endedAt[1:]
	if m.ended[old.Run].serial == old.Serial {
		delete(m.ended, old.Run)
	}
	m.write(Delete{old.Slot()})
}

func (m *Machine) isEnded(run core.Run) bool {
	_, ok := m.ended[run]
	return ok
}

func (m *Machine) setState(r *reservation, s State, why string) {
	r.state, r.why, r.since = s, why, m.now.Wall.UnixNano()
	if s == Draining || s == Quarantined {
		r.entered = m.now.Uptime
	}
	m.write(r.transition())
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
