package engine

import (
	"cmp"
	"maps"
	"slices"
)

// maxFreed bounds how many reservations one tick frees, so that no commit grows without bound when many quarantines end at once.
const maxFreed = 4096

// tick lets time pass: quarantines end, nodes become too long away or busy, orders are repeated.
func (m *Machine) tick() {
	m.finishRecovery()
	m.thaw()
	m.heal()
	for _, name := range slices.Sorted(maps.Keys(m.keepers)) {
		m.loosened(m.keepers[name])
	}
	var due []*reservation
	for _, r := range m.closing {
		if !r.Unknown && m.due(r) {
			due = append(due, r)
		}
	}
	slices.SortFunc(due, bySerial)
	for _, r := range due {
		for _, j := range r.joins.list {
			m.mark(j, m.judge(j))
		}
		m.settle(r)
		if r.stale {
			m.retell(r)
		}
		if m.now.Uptime-r.ordered >= m.rules.Repeat {
			m.orderAll(r)
		}
	}
}

// due reports whether a tick has something to do with r, which is draining or held.
func (m *Machine) due(r *reservation) bool {
	if r.stale || m.now.Uptime-r.ordered >= m.rules.Repeat {
		return true
	}
	for _, j := range r.joins.list {
		if j.stuck != m.judge(j) {
			return true
		}
	}
	return false
}

// thaw frees those whose quarantine is over. Those that rest stand in the order they began, so what is younger than the shortest quarantine needs no look.
func (m *Machine) thaw() {
	if m.Recovering() { // a node that has not reported may hold what rests here, and the store does not know that it joined
		return
	}
	kept, freed := 0, 0
	for i, r := range m.resting {
		if rested := m.now.Uptime - r.entered; rested < m.least || freed == maxFreed {
			kept += copy(m.resting[kept:], m.resting[i:])
			break
		} else if rested >= m.quarantine(r) {
			m.free(r)
			freed++
			continue
		}
		m.resting[kept] = r
		kept++
	}
	clear(m.resting[kept:])
	m.resting = m.resting[:kept]
}

func bySerial(a, b *reservation) int { return cmp.Compare(a.Serial, b.Serial) }
