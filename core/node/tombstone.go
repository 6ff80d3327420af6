package node

import "github.com/weft-hpc/weft/core"

// bury remembers that a run is over.
func (m *Machine) bury(run core.Run) {
	if m.tombs.has(run) {
		return
	}
	t := Tombstone{ID: m.nextID(), Run: run}
	m.entomb(t)
	m.write(t)
}

func (m *Machine) entomb(t Tombstone) {
	if oldest, dropped := m.tombs.put(t.Run, t); dropped {
		m.write(Delete{oldest.Name()})
	}
}

// maxStamps bounds the jobs of which the machine knows when the newest clean-up hook began, for prepares that come late.
// Stamps live as long as the process: the server refuses what comes after.
const maxStamps = 4096

// covers reports whether a clean-up of the job began no earlier than a prepare did. 0 is a prepare whose beginning is not
// known.
func (m *Machine) covers(job core.JobID, began int64) bool {
	return began != 0 && m.stamps.of[job] >= began
}
