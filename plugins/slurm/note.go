package slurm

import (
	"encoding/json"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/scheduler"
)

// noteVersion is raised when a note could no longer be understood by the release before.
const noteVersion = 1

// note is what Prolog knows of a job and squeue does not tell: slurmd takes it from the credential that slurmctld signed.
type note struct {
	Version int    `json:"v"`
	Job     string `json:"job"`             // the component, where the key is the leader's
	Nodes   string `json:"nodes,omitempty"` // SLURM_NODELIST
	CPUs    string `json:"cpus,omitempty"`  // SLURM_JOB_CPUS_PER_NODE, in the order of Nodes
}

// encode is the note as it travels in core.Intent. Lists that would not fit are left out: squeue has the nodes, and the CPUs are then taken to be spread evenly.
func (n note) encode() ([]byte, error) {
	n.Version = noteVersion
	text, err := json.Marshal(n)
	if err == nil && len(text) > core.MaxNote {
		n.Nodes, n.CPUs = "", ""
		text, err = json.Marshal(n)
	}
	if err != nil {
		return nil, core.Errorf(core.InternalFault, "note of job %s: %w", core.Clip(n.Job), err)
	}
	return text, nil
}

// readNote reads a note that came with a reservation.
func readNote(text []byte) (note, error) {
	var n note
	if err := scheduler.ReadNote(text, noteVersion, &n); err != nil {
		return note{}, err
	}
	return n, checkJob(n.Job)
}
