package node

import "github.com/weft-hpc/weft/core"

// Known reports whether a hook has asked for something of the run on this node, or of another run of its job: a prepare that is under way, was granted or
// refused, or a clean-up. Such a job did not merely run here before Weft did.
func (m *Machine) Known(run core.Run) bool {
	return len(m.jobs[run.JobID]) > 0 || m.refusals.has(run.JobID) || m.stamps.has(run.JobID) || m.tombs.has(run)
}
