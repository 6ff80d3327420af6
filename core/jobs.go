package core

// JobState is the state of a job in its scheduler.
type JobState uint8

// The states that matter to a reservation.
const (
	JobQueued  JobState = iota + 1 // waiting, or back in the queue
	JobRunning                     // has nodes: starting, running, suspended or completing
	JobFinal                       // ended, and this generation never comes back
)

func (s JobState) String() string {
	return [...]string{"unknown", "queued", "running", "final", "unknown"}[min(int(s), 4)]
}

// JobStatus is one job of an answer.
type JobStatus struct {
	Run
	State JobState
	Hosts string // the nodes it has now, hostlist; may be empty where the scheduler does not say

	// Started is when this run got its nodes, in Unix seconds; 0 where the scheduler does not say.
	Started int64
}

// Jobs is one message of a Watch. The messages come in this order:
//
//   - Asking alone: the Watch now asks the scheduler;
//   - Silent: the scheduler gave no answer. It stands alone;
//   - Blind: the scheduler may hide jobs from its asker, so there is no complete answer. It stands alone;
//   - Complete: the answer, with every job that the scheduler knows. A job that it lacks does not exist;
//   - changes, neither Asking nor Complete. Among them only a JobFinal frees anything, since all other states may be
//     older than the newest prepare.
type Jobs struct {
	Asking   bool
	Complete bool
	Jobs     []JobStatus
	Silent   string // why there is no answer, and the remedy; empty: there is one
	Blind    string // why the asker may not see every job, and the remedy; empty: it may
}
