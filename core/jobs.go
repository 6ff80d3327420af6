package core

// JobState is where a job stands in its scheduler.
type JobState uint8

// The states that matter to a reservation.
const (
	JobQueued  JobState = iota + 1 // waiting, or back in the queue
	JobRunning                     // has nodes: starting, running, suspended or completing
	JobFinal                       // over, and this generation never comes back
)

func (s JobState) String() string {
	switch s {
	case JobQueued:
		return "queued"
	case JobRunning:
		return "running"
	case JobFinal:
		return "final"
	}
	return "unknown"
}

// JobStatus is one job of an answer.
type JobStatus struct {
	Run
	State JobState
	Hosts string // the nodes it has now, hostlist; may be empty where the scheduler does not say

	// Started is when this run got its nodes, in Unix seconds; 0 where the scheduler does not say.
	Started int64
}

// Jobs is what a Watch tells. First Asking alone: a question is on its way to the scheduler. Then its Complete answer: every job that the scheduler
// knows, and a job that is not in it is not there. Then changes, neither Asking nor Complete: only JobFinal of them frees anything, since what else a
// change says may be older than the newest prepare.
type Jobs struct {
	Asking   bool
	Complete bool
	Jobs     []JobStatus
}
