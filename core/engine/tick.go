package engine

import (
	"maps"
	"slices"
)

// tick lets time pass: quarantines end, nodes become too long away or busy, orders are repeated.
func (m *Machine) tick() {
	var still []*reservation
	for _, r := range m.resting {
		if m.now.Run-r.entered >= m.quarantine(r) {
			m.free(r)
		} else {
			still = append(still, r)
		}
	}
	m.resting = still
	for _, serial := range slices.Sorted(maps.Keys(m.closing)) {
		r := m.closing[serial]
		m.settleNodes(r)
		if r.state != Quarantined && m.now.Run-r.ordered >= m.rules.Repeat {
			m.orderAll(r)
		}
	}
}
