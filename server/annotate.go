package server

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/weft-hpc/weft/core"
)

// A scheduler's own record of a job shows what the job was given: for people, and nothing depends on it. So nobody waits for it, and what a crash or a
// scheduler that is long away costs is lost: the server's own `weft job` tells the same.
const (
	mostNotes = 1024        // grants that wait to be shown, of each scheduler; those beyond are not shown
	noteTries = 5           // of one grant, with a pause between them that doubles
	noteRest  = time.Minute // for which a scheduler that shows no grants is not asked again: its half may be of a release that learns it
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

// annotateAll shows the grants of one scheduler, one at a time and in their order: of what it can do at once it costs one call.
func (s *Server) annotateAll(ctx context.Context, name string, to core.Annotator) {
	var rest time.Duration // Moment.Run until which it is not asked
	for {
		select {
		case <-ctx.Done():
			return
		case g := <-s.notes[name]:
			if s.now().Run < rest {
				continue
			}
			switch err := s.note(ctx, to, g); {
			case err == nil || ctx.Err() != nil:
			case core.AsError(err).Code == core.Unsupported:
				rest = s.now().Run + noteRest
			default:
				s.visit(s.unshown, slog.LevelWarn, "the scheduler's record of a job does not show what it was given", core.LogScheduler, name, core.LogJob, g.Key.String(), core.LogError, err)
			}
		}
	}
}

// note shows one grant, in a few tries.
func (s *Server) note(ctx context.Context, to core.Annotator, g core.Grant) (err error) {
	wait := s.limits.Retry
	for try := range noteTries {
		if try > 0 {
			if !pause(ctx, wait/2+rand.N(wait)) {
				return err
			}
			wait = min(2*wait, s.limits.RetryMost)
		}
		err = func() error {
			ctx, cancel := context.WithTimeout(ctx, s.limits.Describe)
			defer cancel()
			return to.Annotate(ctx, g.Key, g)
		}()
		if err == nil || core.AsError(err).Code == core.Unsupported {
			return err
		}
	}
	return err
}
