package core

import "time"

// SchedulerVerb is what a Call wants of a scheduler's half.
type SchedulerVerb uint8

// The verbs, as the methods of Scheduler.
const (
	CallDescribe SchedulerVerb = iota + 1
	CallFail
	CallDrain
	CallRequeue  // of a half that is a Requeuer
	CallAnnotate // of a half that is an Annotator
	CallResume   // of a half that is a Resumer
)

func (v SchedulerVerb) String() string {
	switch v {
	case CallDescribe:
		return "describe"
	case CallFail:
		return "fail"
	case CallDrain:
		return "drain"
	case CallRequeue:
		return "requeue"
	case CallAnnotate:
		return "annotate"
	case CallResume:
		return "resume"
	}
	return "unknown"
}

// SchedulerCall asks a scheduler's half that runs on a node (`at` in config.hcl). Orders bring it, a Report has the Reply. It is made at most once: who gets no reply
// in time does not know what came of it.
type SchedulerCall struct {
	ID        uint64 // of the session that it came with
	Scheduler string
	Within    time.Duration // from when it was sent; above 0. A call whose time has passed is not begun
	Verb      SchedulerVerb
	Key       Key    // CallDescribe, CallFail, CallRequeue, CallAnnotate
	Note      []byte // CallDescribe: what the adapter's Parse left; at most MaxNote bytes
	From      Peer   // CallDescribe
	Node      string // CallDrain, CallResume: the node to take out of service, or back
	Reason    string // CallFail, CallDrain, CallRequeue
	Grant     *Grant // CallAnnotate: what the job was given, without its token
}

// MaxSchedulerCalls is how many calls a node has under way at most; those beyond are refused at once.
const MaxSchedulerCalls = 64

// SchedulerReply is what came of a Call.
type SchedulerReply struct {
	ID  uint64
	Job *Job   // CallDescribe that went well
	Err *Error // nil: it went well
}
