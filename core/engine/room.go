package engine

import "github.com/weft-hpc/weft/core"

// Room says why a job that policy has decided on could not be given its VNIs now; nil: it could. Nothing is taken, so that another may be first. What is the
// job's own fault is no want of room: that is told where the job's user sees it. sizes are the VNIs of each pool.
func (m *Machine) Room(d Decision, sizes map[string]int) *core.Error {
	if d.Deny != nil || d.Degrade || len(d.VNIs) > core.MaxVNIs || len(d.VNIs) == 0 {
		return nil
	}
	if m.Recovering() {
		return core.Errorf(core.Recovering, "store %s: nothing is granted until every node has reported", m.meta.Head.Store)
	}
	wants := map[string]int{}
	for _, w := range d.VNIs {
		wants[w.Pool]++
	}
	use := m.alloc.Use()
	for _, w := range d.VNIs {
		if n := sizes[w.Pool] - use[w.Pool]; n < wants[w.Pool] {
			return core.Errorf(core.PoolEmpty, "pool %q: %d VNIs are wanted and %d are free: it has %d and %d are in use", w.Pool, wants[w.Pool], max(n, 0), sizes[w.Pool], use[w.Pool])
		}
	}
	return m.waits(&d)
}
