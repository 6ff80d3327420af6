package node

import "github.com/weft-hpc/weft/core"

// graveyard holds the tombstones, oldest first.
type graveyard struct {
	of    map[core.Run]struct{}
	order []Tombstone
}

func newGraveyard() graveyard { return graveyard{of: map[core.Run]struct{}{}} }

func (g *graveyard) has(run core.Run) bool {
	_, ok := g.of[run]
	return ok
}

func (g *graveyard) add(t Tombstone) {
	g.of[t.Run] = struct{}{}
	g.order = append(g.order, t)
}

// bury remembers that a run is over.
func (m *Machine) bury(run core.Run) {
	if m.tombs.has(run) {
		return
	}
	t := Tombstone{ID: m.nextID(), Run: run}
	m.tombs.add(t)
	m.write(t)
	if len(m.tombs.order) > MaxTombstones {
		oldest := m.tombs.order[0]
		m.tombs.order = m.tombs.order[1:]
		delete(m.tombs.of, oldest.Run)
		m.write(Delete{oldest.Name()})
	}
}

// stamps remember when the newest clean-up hook of a job began, for prepares that come late. They live as long as the process: the server refuses what
// comes after.
type stamps struct {
	of    map[core.JobID]int64
	order []core.JobID
}

const maxStamps = 4096

func newStamps() stamps { return stamps{of: map[core.JobID]int64{}} }

// covers reports whether a clean-up of the job began no earlier than a prepare did. 0 is a prepare whose beginning is not known.
func (s *stamps) covers(job core.JobID, began int64) bool { return began != 0 && s.of[job] >= began }

func (s *stamps) put(job core.JobID, began int64) {
	old, known := s.of[job]
	s.of[job] = max(old, began)
	if known {
		return
	}
	s.order = append(s.order, job)
	if len(s.order) > maxStamps {
		delete(s.of, s.order[0])
		s.order = s.order[1:]
	}
}
