package pbs

import "github.com/weft-hpc/weft/core"

// The letters of job_state that are named here.
const (
	stateArray   = "B" // of an array whose tasks have begun
	stateExiting = "E"
)

// states are the letters of job_state that say that a job has no nodes. A job of any other, also of one that a later PBS adds, is taken to run: that frees
// nothing. T is a job on its way to another queue, which is back in one soon; M is one that went to another server.
var states = map[string]core.JobState{
	"Q": core.JobQueued, "H": core.JobQueued, "W": core.JobQueued, stateArray: core.JobQueued,
	"F": core.JobFinal, "X": core.JobFinal, "M": core.JobFinal,
}

func stateOf(letter string) core.JobState {
	if s, ok := states[letter]; ok {
		return s
	}
	return core.JobRunning
}
