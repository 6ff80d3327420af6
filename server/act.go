package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/observe"
	"github.com/weft-hpc/weft/poll"
)

// act does what the machine wants; the records behind it are durable.
func (s *Server) act(d done) {
	head := s.machine.Head()
	var told <-chan struct{} // the scheduler was told that the job fails
	for _, a := range d.actions {
		switch a := a.(type) {
		case engine.Granted:
			a.Grant.Head = head
			if a.Degraded {
				s.meter.Degraded(a.Grant.Scheduler)
			}
			s.answer(a.Call, answer{grant: a.Grant})
			if a.First {
				s.annotate(a.Grant)
			}
		case engine.Refused:
			s.noteRefusal(d.in, a.Err)
			s.refused(a, told)
		case engine.Describe:
			s.describe(a.Call)
		case engine.Done:
			s.answer(a.Call, answer{count: a.Count, err: a.Err})
		case engine.Order:
			a.Orders.Head = head
			s.order(a)
		case engine.End:
			s.end(a)
		case engine.Fail:
			told = s.failed(a)
		case engine.Over:
			s.over(a)
		case engine.Drain:
			s.tellNode(d.in, core.SchedulerCall{Scheduler: a.Scheduler, Verb: core.CallDrain, Node: a.Node, Reason: a.Reason})
		case engine.Resume:
			s.tellNode(d.in, core.SchedulerCall{Scheduler: a.Scheduler, Verb: core.CallResume, Node: a.Node})
		case engine.Spare:
			s.observer.with(func(o *observe.Account) { o.Spare(s.now().Wall, a.Node, a.Reason) })
		case engine.Say:
			s.say(d.in, a)
		}
	}
}

// actEarly does of a Step that wrote nothing what need not wait for the commit of others: schedulers are asked while the disk is. It gives the rest.
func (s *Server) actEarly(actions []engine.Action) []engine.Action {
	if len(actions) != 1 {
		return actions
	}
	if d, ok := actions[0].(engine.Describe); ok {
		s.describe(d.Call)
		return nil
	}
	return actions
}

// say writes a line of the machine's, with the call that it is of.
func (s *Server) say(in engine.Input, a engine.Say) {
	level := [...]slog.Level{slog.LevelInfo, slog.LevelWarn, slog.LevelError}[min(int(a.Level), 2)]
	attrs := make([]any, 0, 8)
	if a.Run.Job != "" {
		attrs = append(attrs, core.LogJob, a.Run.Key.String())
	}
	if a.Node != "" {
		attrs = append(attrs, core.LogNode, a.Node)
	}
	if len(a.VNIs) > 0 {
		attrs = append(attrs, core.LogVNI, core.VNIRanges(a.VNIs))
	}
	if r, ok := in.(engine.Reserve); ok && r.Ask.Call != "" {
		attrs = append(attrs, core.LogCall, r.Ask.Call)
	}
	s.log.Log(context.Background(), level, a.Text, attrs...)
}

// failed tells a job's scheduler that it cannot have what it asked for, now or ever: once a run of the job, however many nodes it has.
func (s *Server) failed(a engine.Fail) <-chan struct{} {
	what, told := jobCall{a.Key, a.Again}, make(chan struct{})
	if first := s.jobCalls.begin(what, told, s.now().Uptime); first != told {
		return first
	}
	call := core.SchedulerCall{Scheduler: a.Key.Scheduler, Verb: core.CallFail, Key: a.Key, Reason: a.Reason}
	if a.Again {
		call.Verb = core.CallRequeue
	}
	over := func(err error) {
		s.jobCalls.end(what, err == nil || unsupported(err), s.now().Uptime)
	}
	if !s.tellScheduler(call, nil, told, over) {
		over(core.Errorf(core.SchedulerAway, "scheduler %s: the server knows none of that name", core.Clip(call.Scheduler)))
		return nil
	}
	return told
}

// mostTold is how long a node waits for its answer while the scheduler is told that the job fails.
const mostTold = 2 * time.Second

// refused ends a call. Where the scheduler is being told, that comes first, for a little while: once the hook returns the job's tasks start and fail, and a
// job that is over can neither be put back into the queue nor be told why.
func (s *Server) refused(a engine.Refused, told <-chan struct{}) {
	if told == nil || a.Err.Reason == core.SchedulerAway { // it takes no word now
		s.answer(a.Call, answer{err: a.Err})
		return
	}
	s.beside.Go(func() {
		t := time.NewTimer(mostTold)
		defer t.Stop()
		select {
		case <-told:
		case <-t.C:
		case <-s.ctx.Done():
		}
		s.answer(a.Call, answer{err: a.Err})
	})
}

// Bounds of putting a job back into the queue of a scheduler that does not answer.
const (
	putBackFor   = 10 * time.Minute
	putBackPause = 2 * time.Second
)

// putsBack reports whether a job waits to be put back until its scheduler answers.
func putsBack(c core.SchedulerCall, err error) bool {
	reason := core.ReasonOf(err)
	return c.Verb == core.CallRequeue && (reason == core.SchedulerAway || reason == core.TimedOut)
}

// tellScheduler makes a call beside the writer, with a few tries: it carries a reason to a person, and nothing depends
// on it. It begins when after is closed, or at once where that is nil. It closes told after the first try, and calls
// over in the end with why the scheduler did not take it. False: this server knows no such scheduler.
func (s *Server) tellScheduler(c core.SchedulerCall, after <-chan struct{}, told chan<- struct{}, over func(error)) bool {
	sched := s.schedulers[c.Scheduler]
	if sched == nil || s.ctx == nil {
		return false
	}
	s.beside.Go(func() {
		var err error
		defer func() { over(err) }()
		began := time.Now()
		for try := 0; ; try++ {
			ctx, cancel := context.WithTimeout(s.ctx, s.limits.Describe)
			err = callAfter(ctx, sched, c, after)
			cancel()
			if try == 0 {
				close(told)
			}
			if err == nil || unsupported(err) {
				return
			}
			if try >= 2 && !(putsBack(c, err) && time.Since(began) < putBackFor) {
				s.log.Warn("the scheduler did not take it", core.LogScheduler, c.Scheduler, core.LogVerb, string(c.Verb), core.LogError, err)
				return
			}
			if !poll.Pause(s.ctx, min(time.Duration(try+1)*s.limits.Retry, putBackPause)) {
				return
			}
		}
	})
	return true
}

func callAfter(ctx context.Context, sched core.SchedulerClient, c core.SchedulerCall, after <-chan struct{}) error {
	if after != nil {
		select {
		case <-after:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	_, err := sched.Call(ctx, c)
	return err
}
