package node

import "github.com/weft-hpc/weft/core"

// refusal is why the newest prepare of a job got nothing, so that a task of it learns that and not merely that this node
// holds nothing for it. Refusals live as long as the process: they are for a person, and a task without a record fails
// anyway.
type refusal struct {
	uid uint32 // who may know
	err *core.Error
}

const maxRefusals = 4096

// refused remembers why a prepare for uid was refused. One that a clean-up cancelled is of a job that is over.
func (m *Machine) refused(job core.JobID, uid uint32, err *core.Error) {
	if err != nil && err.Reason != core.Cancelled && core.CheckJobID(job.Job) == nil {
		m.refusals.put(job, refusal{uid, err})
	}
}

// whyRefused is why the job has nothing, for whoever may know.
func (m *Machine) whyRefused(job core.JobID, who core.Peer) *core.Error {
	if r, known := m.refusals.of[job]; known && (who.Root() || who.UID == r.uid) {
		return r.err
	}
	return nil
}
