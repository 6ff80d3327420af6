package server

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/poll"
)

// A scheduler's own record of a job shows what the job was given: for people, and nothing depends on it. So nobody waits for it, and what a scheduler that is
// long away costs is lost: the server's own `weft job` tells the same.
const (
	mostNotes = 1024            // grants that wait to be shown, of each scheduler; those beyond are not shown
	noteTries = 5               // of one grant, with a pause between them that doubles
	noteAgain = 5 * time.Minute // the age up to which a grant is shown again by a server that does not know whether it was
)

// annotate has the first grant of a run shown. It never waits.
func (s *Server) annotate(g core.Grant) {
	notes := s.notes[g.Key.Scheduler]
	if notes == nil {
		return
	}
	select {
	case notes <- g.Shown():
	default:
		s.visit(s.unshown, slog.LevelWarn, "the scheduler's record of a job does not show what it was given: too many wait for it", core.LogScheduler, g.Key.Scheduler, core.LogJob, g.Key.String())
	}
}

// annotateAgain has those grants shown that were durable when a server ended, or lost its store, and perhaps were not yet. Annotators show none twice.
func (s *Server) annotateAgain() {
	if len(s.notes) == 0 {
		return
	}
	for _, g := range s.machine.Grants(s.now().Wall.Add(-noteAgain), mostNotes) {
		s.annotate(g)
	}
}

// annotateAll shows the grants of one scheduler, one at a time and in their order: of what it can do at once it costs one call. One that shows none is asked
// once; where its half runs on a node, once a session, since the agent there may be of a later release then.
func (s *Server) annotateAll(ctx context.Context, name string, to core.SchedulerClient) {
	cannot, by := false, uint64(0)
	for {
		select {
		case <-ctx.Done():
			return
		case g := <-s.notes[name]:
			session := s.sessionOf(name)
			if cannot && session == by {
				continue
			}
			err := s.note(ctx, to, g)
			if ctx.Err() != nil {
				return
			}
			cannot, by = err != nil && core.AsError(err).Code == core.Unsupported, session
			if err != nil && !cannot {
				s.visit(s.unshown, slog.LevelWarn, "the scheduler's record of a job does not show what it was given", core.LogScheduler, name, core.LogJob, g.Key.String(), core.LogError, err)
			}
		}
	}
}

// sessionOf is the session by which a scheduler's half is asked; 0: it runs here, or has none.
func (s *Server) sessionOf(name string) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ses := s.sessions[s.needs.At[name]]; ses != nil {
		return ses.id
	}
	return 0
}

// note shows one grant, in a few tries.
func (s *Server) note(ctx context.Context, to core.SchedulerClient, g core.Grant) (err error) {
	wait := s.limits.Retry
	for try := range noteTries {
		if try > 0 {
			if !poll.Pause(ctx, wait/2+rand.N(wait)) {
				return err
			}
			wait = min(2*wait, s.limits.RetryMost)
		}
		err = func() error {
			ctx, cancel := context.WithTimeout(ctx, s.limits.Describe)
			defer cancel()
			_, err := to.Call(ctx, core.SchedulerCall{
				Scheduler: g.Key.Scheduler, Verb: core.CallAnnotate, Key: g.Key, Grant: &g,
			})
			return err
		}()
		if err == nil || core.AsError(err).Code == core.Unsupported {
			return err
		}
	}
	return err
}
