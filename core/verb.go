package core

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"
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
	CallDrained  SchedulerVerb = "drained"
	CallBlame    SchedulerVerb = "blame"
)

// verbs says of each verb which contract has it, and calls the adapter's method.
var verbs = map[SchedulerVerb]verb{
	CallDescribe: of(aJob, func(ctx context.Context, s Scheduler, c SchedulerCall) (SchedulerReply, error) {
		job, err := s.Describe(ctx, c.Key, c.Note, c.From)
		if err != nil {
			return SchedulerReply{}, err
		}
		return SchedulerReply{Job: &job}, nil
	}),
	CallFail: tells(aJob, func(ctx context.Context, s Scheduler, c SchedulerCall) error {
		return s.Fail(ctx, c.Key, c.Reason)
	}),
	CallDrain: tells(aNode, func(ctx context.Context, s Scheduler, c SchedulerCall) error {
		return s.Drain(ctx, c.Node, c.Reason)
	}),
	CallRequeue: tells(aJob, func(ctx context.Context, r Requeuer, c SchedulerCall) error {
		return r.Requeue(ctx, c.Key, c.Reason)
	}),
	CallAnnotate: tells(aJob, func(ctx context.Context, a Annotator, c SchedulerCall) error {
		if c.Grant == nil {
			return Errorf(NotSupported, "scheduler %s: job %s: the call has no grant to show", Clip(c.Scheduler), c.Key)
		}
		return a.Annotate(ctx, c.Key, *c.Grant)
	}),
	CallResume: tells(aNode, func(ctx context.Context, r Resumer, c SchedulerCall) error {
		return r.Resume(ctx, c.Node)
	}),
	CallDown: tells(aNode, func(ctx context.Context, d Downer, c SchedulerCall) error {
		return d.Down(ctx, c.Node)
	}),
	CallBlame: tells(aJob, func(ctx context.Context, b Blamer, c SchedulerCall) error {
		return b.Blame(ctx, c.Key, c.Node, c.Reason)
	}),
	CallDrained: of(all, func(ctx context.Context, l DrainLister, _ SchedulerCall) (SchedulerReply, error) {
		drained, err := l.Drained(ctx)
		if len(drained) > MaxDrained {
			err = Errorf(SchedulerAway, "drained nodes: %d reasons, and there may be %d", len(drained), MaxDrained)
		}
		if err != nil {
			return SchedulerReply{}, err
		}
		return SchedulerReply{Drained: drained}, nil
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

// DrainLister is implemented by a scheduler that can list the nodes that Weft or anyone else took out of service.
// The server asks every few seconds, so that its own list and the scheduler's agree.
type DrainLister interface {
	// Drained has a node once, and one element for all nodes with equal reasons where that is easy.
	Drained(ctx context.Context) ([]Drained, error)
}

// MaxDrained bounds the elements of one list.
const MaxDrained = 16384

// Drained are nodes that a scheduler gives no job, for the reason of a person or of Weft.
type Drained struct {
	Hosts string // hostlist
	Drain
	Hook bool // the scheduler itself drained them, since a hook failed
}

// Ours reports whether Weft drained the node in a scheduler: the reason begins with DrainPrefix, and AwayPrefix does
// not follow.
func (d Drain) Ours() bool {
	reason, ours := strings.CutPrefix(d.Reason, DrainPrefix)
	return ours && !strings.HasPrefix(reason, AwayPrefix)
}

// Drain is why a node is out of service. The zero value is that of a node in service.
type Drain struct {
	Reason string
	By     string // a person; empty: Weft, or not known
	Since  int64  // seconds since 1970; 0: not known
}

// String is for a person.
func (d Drain) String() string {
	text := d.Reason
	if d.By != "" {
		text += ", by " + d.By
	}
	if d.Since != 0 {
		text += ", since " + time.Unix(d.Since, 0).UTC().Format(time.RFC3339)
	}
	return text
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

// Blamer is implemented by a scheduler whose record of a job can say that a node of it is at fault, and why. The agent
// of that node calls it before the hook fails, which ends the job or puts it back. A job that is over is no error.
type Blamer interface {
	Blame(ctx context.Context, key Key, node, reason string) error
}

// SchedulerVerbs are all verbs of this release, sorted.
func SchedulerVerbs() []SchedulerVerb { return slices.Sorted(maps.Keys(verbs)) }

// verb is about something. bind returns nil for an adapter without the verb's contract.
type verb struct {
	of   subject
	bind func(adapter any) callFunc
}

// subject of a verb.
type subject uint8

const (
	aJob subject = iota
	aNode
	all
)

type callFunc func(context.Context, SchedulerCall) (SchedulerReply, error)

// tells makes a verb that has no answer.
func tells[C any](what subject, call func(context.Context, C, SchedulerCall) error) verb {
	return of(what, func(ctx context.Context, adapter C, c SchedulerCall) (SchedulerReply, error) {
		return SchedulerReply{}, call(ctx, adapter, c)
	})
}

func of[C any](what subject, call func(context.Context, C, SchedulerCall) (SchedulerReply, error)) verb {
	return verb{what, func(adapter any) callFunc {
		a, ok := adapter.(C)
		if !ok {
			return nil
		}
		return func(ctx context.Context, c SchedulerCall) (SchedulerReply, error) { return call(ctx, a, c) }
	}}
}
