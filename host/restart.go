package host

import (
	"context"
	"time"

	"github.com/weft-hpc/weft/core"
)

// Restart ends the plugin politely and starts it anew with what is configured now, also one that has failed. It answers how the start went.
func (p *Plugin) Restart(ctx context.Context) error { return p.restart(ctx, false) }

// Try is Restart with a block that is not in force yet. When the plugin does not start with it that is the block's fault and not the plugin's: it is no death
// and not in the log, since who tries is told, has the former block put in force, and must call Restart then.
func (p *Plugin) Try(ctx context.Context) error { return p.restart(ctx, true) }

func (p *Plugin) restart(ctx context.Context, trial bool) error {
	answer := make(chan error, 1)
	select {
	case p.again <- request{answer: answer, trial: trial}:
	case <-p.ended.Done():
		return p.away(Stopped, "")
	case <-ctx.Done():
		return core.Errorf(core.TimedOut, "%s: it is being started already: %w", p.spec.title(), ctx.Err())
	}
	select {
	case err := <-answer:
		return err
	case <-p.over:
		return p.away(Stopped, "")
	case <-ctx.Done():
		return core.Errorf(core.TimedOut, "%s: restart: %w", p.spec.title(), ctx.Err())
	}
}

// request is for a start; its zero value is nobody's.
type request struct {
	answer chan<- error // hears how it went
	first  bool
	trial  bool // see Try
}

// hear answers whoever waits for a start, when the status shows it.
func (r request) hear(err error) {
	if r.answer != nil {
		r.answer <- err
	}
}

// refused waits after a start that was a trial: whoever tries has the former block put in force and asks for a restart at once. Were he gone, the plugin is
// started with what is configured then.
func (p *Plugin) refused(b *breaker, asked request, cause error) (next request, none bool) {
	timer := time.NewTimer(p.limits.Start)
	defer timer.Stop()
	p.change(func(s *Status) { s.State, s.PID, s.Why = Backoff, 0, cause.Error() })
	asked.hear(cause)
	return p.wait(b, timer.C)
}
