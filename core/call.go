package core

import (
	"context"
	"time"
)

// SchedulerCall calls one method of a scheduler's adapter. Orders carry it to an adapter that runs on a node (`at` in
// config.hcl), and a Report carries its SchedulerReply. It is made at most once: without a reply its caller does not
// know whether the adapter acted.
type SchedulerCall struct {
	ID        uint64 // in Orders: unique in the session
	Scheduler string
	Within    time.Duration // in Orders: the time from sending to the reply; above 0. The node does not begin a later call
	Verb      SchedulerVerb
	Key       Key    // of a verb about a job
	Node      string // of a verb about a node
	Reason    string // of a verb whose method takes a reason
	Note      []byte // of CallDescribe: the Note that Parse made; at most MaxNote bytes
	From      Peer   // of CallDescribe: the caller of the hook
	Grant     *Grant // of CallAnnotate: the job's, without its token
}

// MaxSchedulerCalls bounds the calls that a node has under way. It refuses more at once.
const MaxSchedulerCalls = 64

// SchedulerReply answers a SchedulerCall of Orders.
type SchedulerReply struct {
	ID      uint64
	Job     *Job      // of CallDescribe, without an error
	Drained []Drained // of CallDrained, without an error
	Err     *Error
}

// Check refuses a call that lacks the job, the node or the grant of its verb. A verb of another release passes.
func (c SchedulerCall) Check() error {
	v, known := verbs[c.Verb]
	switch {
	case known && v.of == aNode && c.Node == "":
		return Errorf(BadCall, "scheduler call %s: it names no node", c.Verb)
	case known && v.of == aJob && c.Key.Job == "":
		return Errorf(BadCall, "scheduler call %s: it names no job", c.Verb)
	case c.Verb == CallAnnotate && c.Grant == nil:
		return Errorf(BadCall, "scheduler call %s: it has no grant", c.Verb)
	}
	return nil
}

// Unsupported is the error of a call when the adapter does not have its verb.
func (c SchedulerCall) Unsupported() error {
	return Errorf(NotSupported, "scheduler %s: %s: its adapter cannot do that", Clip(c.Scheduler), Clip(string(c.Verb)))
}

// SchedulerClient calls a scheduler's adapter, wherever it runs: in this process, in a plugin, or on another node. An
// adapter implements Scheduler; Dispatcher makes a SchedulerClient of it.
type SchedulerClient interface {
	// Has reports whether the adapter has the verb. It may report true of an adapter on another node; then Call
	// decides.
	Has(verb SchedulerVerb) bool
	// Call answers CallDescribe with a Job, CallDrained with Drained, and each other verb with nothing. Its reply has no
	// ID and no Err. The error is Unsupported when the adapter does not have the verb.
	Call(ctx context.Context, call SchedulerCall) (SchedulerReply, error)
	// Watch works as in Scheduler.
	Watch(ctx context.Context, tell func(Jobs) error) error
}

// Dispatcher calls the methods of the adapter Of.
type Dispatcher struct{ Of Scheduler }

var _ SchedulerClient = Dispatcher{}

// Has implements SchedulerClient.
func (d Dispatcher) Has(name SchedulerVerb) bool {
	v, known := verbs[name]
	return known && v.bind(d.Of) != nil
}

// Call implements SchedulerClient.
func (d Dispatcher) Call(ctx context.Context, c SchedulerCall) (SchedulerReply, error) {
	if !d.Has(c.Verb) {
		return SchedulerReply{}, c.Unsupported()
	}
	return verbs[c.Verb].bind(d.Of)(ctx, c)
}

// Watch implements SchedulerClient.
func (d Dispatcher) Watch(ctx context.Context, tell func(Jobs) error) error {
	return d.Of.Watch(ctx, tell)
}

// Describe asks for the facts of a job. The error is SchedulerAway when the adapter answers without them.
func Describe(ctx context.Context, scheduler SchedulerClient, key Key, note []byte, from Peer) (Job, error) {
	reply, err := scheduler.Call(ctx, SchedulerCall{
		Scheduler: key.Scheduler, Verb: CallDescribe, Key: key, Note: note, From: from,
	})
	switch {
	case err != nil:
		return Job{}, err
	case reply.Job == nil:
		return Job{}, Errorf(SchedulerAway, "scheduler %s: job %s: the adapter gave no facts", key.Scheduler, key.Job)
	}
	return *reply.Job, nil
}
