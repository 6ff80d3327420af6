package slurm

import "github.com/weft-hpc/weft/core"

// states are the names of squeue's State that say that a job has no nodes. A job of any other, also of one that a later Slurm adds, is taken to run: that
// frees nothing. COMPLETING is told until the last Epilog is over.
var states = map[string]core.JobState{
	"PENDING": core.JobQueued, "REQUEUED": core.JobQueued, "REQUEUE_HOLD": core.JobQueued, "REQUEUE_FED": core.JobQueued, "SPECIAL_EXIT": core.JobQueued,
	"RESV_DEL_HOLD": core.JobQueued,

	"BOOT_FAIL": core.JobFinal, "CANCELLED": core.JobFinal, "COMPLETED": core.JobFinal, "DEADLINE": core.JobFinal, "FAILED": core.JobFinal,
	"NODE_FAIL": core.JobFinal, "OUT_OF_MEMORY": core.JobFinal, "PREEMPTED": core.JobFinal, "REVOKED": core.JobFinal, "TIMEOUT": core.JobFinal,
}

// completing is the State of a job whose end has been decided.
const completing = "COMPLETING"

// endedBadly is the State of a batch job that ended with a code that is not zero.
const endedBadly = "FAILED"

func stateOf(name string) core.JobState {
	if s, ok := states[name]; ok {
		return s
	}
	return core.JobRunning
}
