package daemon

import (
	"context"
	"log/slog"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/poll"
)

// Watchdog is who ends a daemon that hangs: systemd, with WatchdogSec.
type Watchdog struct {
	Every time.Duration // within which it must be told; 0: there is none
	Tell  func()
}

// run tells the watchdog for as long as look is answered: it goes through the one writer, without which the daemon does nothing. A writer that answers with
// an error lives: what it says is for an administrator, and a restart would not mend it.
func (w Watchdog) run(ctx context.Context, look func(context.Context) error, log *slog.Logger) {
	if w.Every <= 0 || w.Tell == nil {
		return
	}
	for said := false; ; {
		asked, cancel := context.WithTimeout(ctx, w.Every/3)
		err := look(asked)
		cancel()
		wait := w.Every / 3
		switch e := core.AsError(err); {
		case ctx.Err() != nil:
			return
		case err == nil || e.Reason != core.TimedOut && e.Reason != core.Overloaded:
			w.Tell()
			said = false
		default: // its queue may be full because it hangs, or because very many ask: it is asked again soon
			wait /= 10
			if !said {
				log.Error("the writer does not answer; the watchdog is not told, and ends the daemon if that lasts", core.LogError, err, core.LogWait, w.Every)
			}
			said = true
		}
		if !poll.Pause(ctx, wait) {
			return
		}
	}
}
