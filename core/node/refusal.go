package node

import "github.com/weft-hpc/weft/core"

// refusals remember why prepares of jobs got nothing, so that a task of such a job is told that and not merely that this node holds nothing for it. They live
// as long as the process: what they say is for a person, and a task without a record fails anyway.
type refusals struct {
	of    map[core.JobID]refusal
	order []core.JobID
}

// refusal is the newest of a job, for its owner's eyes.
type refusal struct {
	uid uint32
	err *core.Error
}

const maxRefusals = 4096

func newRefusals() refusals { return refusals{of: map[core.JobID]refusal{}} }

// put remembers why a prepare for uid was refused. One that a clean-up cancelled is of a job that is over.
func (f *refusals) put(job core.JobID, uid uint32, err *core.Error) {
	if err == nil || err.Reason == core.Cancelled || core.CheckJobID(job.Job) != nil {
		return
	}
	if _, known := f.of[job]; !known {
		f.order = append(f.order, job)
	}
	f.of[job] = refusal{uid, err}
	if len(f.of) > maxRefusals {
		delete(f.of, f.order[0])
		f.order = f.order[1:]
	}
}

// drop forgets a job that is over, or has what it asked for.
func (f *refusals) drop(job core.JobID) {
	if _, known := f.of[job]; !known {
		return
	}
	delete(f.of, job)
	for i, j := range f.order {
		if j == job {
			f.order = append(f.order[:i], f.order[i+1:]...)
			return
		}
	}
}

// tell is why the job has nothing, for whoever may know.
func (f *refusals) tell(job core.JobID, who core.Peer) *core.Error {
	if r, known := f.of[job]; known && (who.Root() || who.UID == r.uid) {
		return r.err
	}
	return nil
}
