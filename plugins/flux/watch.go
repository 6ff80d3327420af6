package flux

import (
	"context"
	"errors"
	"log/slog"
	"syscall"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/flux/broker"
	"github.com/weft-hpc/weft/poll"
)

// Pauses between a broker that is gone and the next try, and how long a backlog or an answer may take.
const (
	firstPause = 250 * time.Millisecond
	mostPause  = 30 * time.Second
	patience   = time.Minute
)

// Watch follows the job manager's journal: the backlog of active jobs is the complete answer, which is told anew from time to time, and each event after it a
// change. A journal cannot be resumed: when the broker is back, its backlog is read anew. It ends with ctx, or with an error of tell.
func (p *Plugin) Watch(ctx context.Context, tell func(core.Jobs) error) error {
	for failed := 0; ; {
		answered := false
		var told error
		err := p.follow(ctx, func(j core.Jobs) error {
			if told = tell(j); told != nil {
				return told
			}
			if j.Complete && !answered {
				if answered = true; failed > 0 {
					slog.InfoContext(ctx, "Flux tells its jobs again", core.LogScheduler, p.name, core.LogCount, failed)
				}
				failed = 0
			}
			return nil
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if told != nil {
			return told
		}
		wait := poll.Backoff(firstPause, mostPause, failed)
		failed++
		away := p.away("journal", err)
		// Flux shows the journal to its owner only (flux-core v0.88.0): htab in src/modules/job-manager/journal.c gives
		// job-manager.events-journal no role beside FLUX_ROLE_OWNER, with which flux_msg_handler_create begins.
		// call_handler in src/common/libflux/msg_handler.c answers everybody else with EPERM.
		e := core.AsError(away)
		why := core.Jobs{Silent: e.Line()}
		if isFault(err, syscall.EPERM) {
			why = core.Jobs{Blind: "scheduler " + p.name + ": " + e.What + ": " + e.Remedy}
		}
		if err := tell(why); err != nil {
			return err
		}
		log := slog.WarnContext
		if errors.Is(err, broker.End) || errors.Is(err, broker.ErrClosed) {
			log = slog.InfoContext // a broker that stops in order
		}
		log(ctx, "Flux does not tell its jobs; nothing is freed until it does", core.LogScheduler, p.name, core.LogError, away, core.LogCount, failed, core.LogWait, wait)
		if !poll.Pause(ctx, wait) {
			return ctx.Err()
		}
	}
}

// follow reads one journal from its backlog to its end.
func (p *Plugin) follow(ctx context.Context, tell func(core.Jobs) error) error {
	if err := tell(core.Jobs{Asking: true}); err != nil {
		return err
	}
	opening, cancel := context.WithTimeout(ctx, p.settings.patient)
	conn, err := p.dial(opening)
	cancel()
	if err != nil {
		return err
	}
	defer conn.Close()
	s, err := conn.Stream(topicJournal, broker.AnyNode, object{"full": false})
	if err != nil {
		return err
	}
	j := newJournal(p.name)
	for !j.caughtUp { // each answer may take its time, all of them as long as there are jobs
		if err := p.next(ctx, s, j, time.Now().Add(patience)); err != nil {
			return err
		}
	}
	if err := tell(j.complete()); err != nil {
		return err
	}
	for {
		if err := p.changes(ctx, s, j, tell); err != nil {
			return err
		}
		if err := tell(core.Jobs{Asking: true}); err != nil {
			return err
		}
		if err := p.fence(ctx, conn, s, j); err != nil {
			return err
		}
		if err := tell(j.complete()); err != nil {
			return err
		}
	}
}

// errTick is that it is time for a complete answer.
var errTick = errors.New("it is time for a complete answer")

// changes tells what happens until it is time for the next complete answer.
func (p *Plugin) changes(ctx context.Context, s *broker.Stream, j *journal, tell func(core.Jobs) error) error {
	until := time.Now().Add(p.settings.every)
	for time.Now().Before(until) {
		err := p.next(ctx, s, j, until)
		if errors.Is(err, errTick) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := p.pending(s, j); err != nil {
			return err
		}
		if c := j.changed(); len(c.Jobs) > 0 {
			if err := tell(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// next takes one answer, or errTick when none comes until then.
func (p *Plugin) next(ctx context.Context, s *broker.Stream, j *journal, until time.Time) error {
	ctx, cancel := context.WithDeadlineCause(ctx, until, errTick)
	defer cancel()
	var e entry
	if err := s.Decode(ctx, &e); err != nil {
		return err
	}
	return j.apply(e)
}

// pending takes what has come already.
func (p *Plugin) pending(s *broker.Stream, j *journal) error {
	for {
		var e entry
		ok, err := s.Poll(&e)
		if !ok || err != nil {
			return err
		}
		if err := j.apply(e); err != nil {
			return err
		}
	}
}

// fence asks the job manager for something, and takes all that it told before it answered: it tells an event when it happens, and what one service sends
// comes in order. So j is at least as young as the question.
func (p *Plugin) fence(ctx context.Context, conn *broker.Conn, s *broker.Stream, j *journal) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := conn.Call(ctx, "job-manager.stats-get", broker.AnyNode, nil, nil); err != nil {
		return err
	}
	return p.pending(s, j)
}
