package core

import (
	"context"
	"maps"
	"slices"
)

// SchedulerVerb names one method of an adapter: of Scheduler, or of an optional contract of this file. The wire
// carries the word, and a plugin tells it as an Ability.
type SchedulerVerb string

// The verbs.
const (
	CallDescribe SchedulerVerb = "describe"
	CallFail     SchedulerVerb = "fail"
	CallDrain    SchedulerVerb = "drain"
	CallRequeue  SchedulerVerb = "requeue"
	CallAnnotate SchedulerVerb = "annotate"
	CallResume   SchedulerVerb = "resume"
	CallDown     SchedulerVerb = "down"
)

// verbs says of each verb which contract has it, and calls the adapter's method.
var verbs = map[SchedulerVerb]verb{
	CallDescribe: ofJob(func(ctx context.Context, s Scheduler, c SchedulerCall) (*Job, error) {
		job, err := s.Describe(ctx, c.Key, c.Note, c.From)
		if err != nil {
			return nil, err
		}
		return &job, nil
	}),
	CallFail: ofJob(func(ctx context.Context, s Scheduler, c SchedulerCall) (*Job, error) {
		return nil, s.Fail(ctx, c.Key, c.Reason)
	}),
	CallDrain: ofNode(func(ctx context.Context, s Scheduler, c SchedulerCall) (*Job, error) {
		return nil, s.Drain(ctx, c.Node, c.Reason)
	}),
	CallRequeue: ofJob(func(ctx context.Context, r Requeuer, c SchedulerCall) (*Job, error) {
		return nil, r.Requeue(ctx, c.Key, c.Reason)
	}),
	CallAnnotate: ofJob(func(ctx context.Context, a Annotator, c SchedulerCall) (*Job, error) {
		if c.Grant == nil {
			return nil, Errorf(NotSupported, "scheduler %s: job %s: the call has no grant to show", Clip(c.Scheduler), c.Key)
		}
		return nil, a.Annotate(ctx, c.Key, *c.Grant)
	}),
	CallResume: ofNode(func(ctx context.Context, r Resumer, c SchedulerCall) (*Job, error) {
		return nil, r.Resume(ctx, c.Node)
	}),
	CallDown: ofNode(func(ctx context.Context, d Downer, c SchedulerCall) (*Job, error) {
		return nil, d.Down(ctx, c.Node)
	}),
}

// Requeuer is implemented by a scheduler that can put a job back into its queue. It returns when the scheduler knows.
// The server calls it for a job whose failure is of scope system: Weft may be able to serve the job later. While the
// server is away, the agent of the node whose Intent says Speaks calls it. A job that cannot come back ends, as with
// Fail.
type Requeuer interface {
	Requeue(ctx context.Context, key Key, reason string) error
}

// Resumer is implemented by a scheduler that can take a node back into service. The server calls it when an
// administrator resumes the node in Weft. It undoes a Drain, which it knows by its reason, and nothing else. A node
// that Weft did not drain stays as it is, and so does one that is in service or down; that is no error.
type Resumer interface {
	Resume(ctx context.Context, node string) error
}

// Downer is implemented by a scheduler that can tell whether a node is down: no job of it runs there. The server asks
// after its start, before it goes on without a node that does not report. Nil: the scheduler calls the node down.
// NotSupported: it has no node of that name. Every other error: the node is in service, or the scheduler cannot say.
type Downer interface {
	Down(ctx context.Context, node string) error
}

// NotDown is the error of Down for a node that scheduler does not call down.
func NotDown(node, scheduler string) error {
	return Errorf(NotAllowed, "node %s: scheduler %s does not call it down", Clip(node), Clip(scheduler))
}

// Annotator is implemented by a scheduler that can show a grant in its own record of the job. The server calls it
// after the run's first grant is durable, and does not wait for it. The grant is that of the first node, without its
// token. The call repeats when an answer was lost and after a start of the server, so the record must not show a
// grant twice. A job that is over is no error. The server stops calling an adapter that answers Unsupported.
type Annotator interface {
	Annotate(ctx context.Context, key Key, grant Grant) error
}

// SchedulerVerbs are all verbs of this release, sorted.
func SchedulerVerbs() []SchedulerVerb { return slices.Sorted(maps.Keys(verbs)) }

// verb of a job, or of a node. bind returns nil for an adapter without the verb's contract.
type verb struct {
	node bool
	bind func(adapter any) callFunc
}

type callFunc func(context.Context, SchedulerCall) (*Job, error)

func ofJob[C any](call func(context.Context, C, SchedulerCall) (*Job, error)) verb {
	return verb{false, bind(call)}
}

func ofNode[C any](call func(context.Context, C, SchedulerCall) (*Job, error)) verb {
	return verb{true, bind(call)}
}

func bind[C any](call func(context.Context, C, SchedulerCall) (*Job, error)) func(any) callFunc {
	return func(adapter any) callFunc {
		a, ok := adapter.(C)
		if !ok {
			return nil
		}
		return func(ctx context.Context, c SchedulerCall) (*Job, error) { return call(ctx, a, c) }
	}
}
