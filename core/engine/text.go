package engine

import (
	"maps"
	"slices"
)

// keep has the store keep the policy of that hash, which a reservation names from now on. It comes with the decision, which was made beside the writer.
func (m *Machine) keep(hash string, by Text) {
	if _, kept := m.kept[hash]; kept || hash == "" {
		return
	}
	for _, t := range [...]Text{by, m.cfg.Policy} {
		if t.Hash == hash {
			m.write(t)
			m.kept[hash] = t.Text
			return
		}
	}
}

// drop takes a policy out of the store that no reservation names any more.
func (m *Machine) drop(hash string) {
	if _, kept := m.kept[hash]; kept {
		delete(m.kept, hash)
		m.write(Delete{Text{Hash: hash}.Slot()})
	}
}

// dropUnnamed takes those out that no reservation names.
func (m *Machine) dropUnnamed() {
	for _, hash := range slices.Sorted(maps.Keys(m.kept)) {
		if m.texts[hash] == 0 {
			m.drop(hash)
		}
	}
}
