package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/weft-hpc/weft/core"
)

// Spec is a plugin to be run.
type Spec struct {
	Kind     Kind
	Name     string  // the block's label in config.hcl
	Program  Program // what to run as a process
	Value    any     // in place of Program: runs in the daemon, behind a guard
	AutoMTLS bool    // encrypt between daemon and plugin, with keys made for each start
	Needed   bool    // whoever starts it does not go on without what an administrator must mend: Start's error tells it, and the log does not too
	// Block applies the plugin's schema to its block of config.hcl. It is asked at every start, so that a restart takes what is configured then. nil: there
	// is no block, and the plugin gets its defaults.
	Block func(core.Schema) (core.Values, error)
	// Bounds are asked at every start too. A zero, or nil: that of DefaultBounds.
	Bounds func() Bounds
}

func (s Spec) title() string { return string(s.Kind) + " " + s.Name }

// Plugin is one plugin under its host. Its facades (NIC, Fabric, Hooks, Scheduler) stay good however often it is started anew.
type Plugin struct {
	spec   Spec
	limits Limits
	log    *slog.Logger
	begin  func(context.Context) (*life, error)
	told   func(Status)

	again chan request // Restart and Try
	ended context.Context
	halt  context.CancelFunc // begins the end
	over  chan struct{}      // closed when run has returned
	grave sync.WaitGroup     // lives that are not gone yet

	mu      sync.Mutex
	status  Status
	life    *life
	changed chan struct{} // closed when status or life has changed
	stuck   int           // calls in the daemon that have not returned in time
}

func newPlugin(spec Spec, limits Limits, log *slog.Logger, told func(Status)) *Plugin {
	p := &Plugin{
		spec: spec, limits: limits, log: log.With(core.LogPlugin, spec.title()), told: told, again: make(chan request),
		over: make(chan struct{}), changed: make(chan struct{}),
	}
	p.ended, p.halt = context.WithCancel(context.Background())
	p.status = Status{Kind: spec.Kind, Name: spec.Name, Program: spec.Program.Path, State: Starting, Since: time.Now()}
	return p
}

// Status is how it is now.
func (p *Plugin) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

// change changes the status and tells it.
func (p *Plugin) change(f func(*Status)) {
	p.mu.Lock()
	before := p.status.State
	f(&p.status)
	if p.status.State != before {
		p.status.Since = time.Now()
	}
	s := p.status
	close(p.changed)
	p.changed = make(chan struct{})
	p.mu.Unlock()
	if p.told != nil {
		p.told(s)
	}
}

func (p *Plugin) use(l *life) {
	p.mu.Lock()
	p.life = l
	p.mu.Unlock()
}

// errStop ends run.
var errStop = errors.New("stopped")

// run is the plugin's whole history; first hears how the first start went.
func (p *Plugin) run(first chan<- error) {
	defer close(p.over)
	defer p.grave.Wait()
	b := &breaker{limits: p.limits}
	asked := request{answer: first, first: true}
	for {
		p.change(func(s *Status) { s.State, s.Starts = Starting, s.Starts+1 })
		l, err := p.start()
		if err == nil {
			p.ready(l)
			asked.hear(nil)
			asked, err = p.live(l)
		}
		if errors.Is(err, errStop) {
			p.change(func(s *Status) { s.State, s.PID, s.Why = Stopped, 0, "" })
			asked.hear(err)
			p.log.Info("plugin stopped")
			return
		}
		if err == nil { // an administrator's restart
			b.forgive()
			continue
		}
		var none bool
		if asked.trial {
			asked, none = p.refused(b, asked, err)
		} else {
			asked, none = p.rest(b, asked, err)
		}
		if none {
			return
		}
	}
}

// rest waits after a death for the next start; none says that there is none.
func (p *Plugin) rest(b *breaker, asked request, cause error) (next request, none bool) {
	wait, broken := b.died(time.Now())
	e := core.AsError(cause)
	_, complained := errors.AsType[*core.PathError](cause)
	final := broken || complained || e.Reason == core.BadConfig || e.Reason == core.BadVersion
	p.change(func(s *Status) {
		s.State, s.PID, s.Why, s.Deaths = Backoff, 0, cause.Error(), s.Deaths+1
		if final {
			s.State = Failed
		}
		if broken {
			s.Why += fmt.Sprintf("; it ended %d times within %v and starts again every %v", p.limits.Deaths, p.limits.Window, wait)
		}
	})
	asked.hear(cause)
	var due <-chan time.Time
	switch {
	case final && asked.first && p.spec.Needed:
	case broken:
		timer := time.NewTimer(wait)
		defer timer.Stop()
		due = timer.C
		p.log.Error("plugin ended too often and starts again slowly; see why, then `weft plugin restart "+p.spec.title()+"`", core.LogWhy, cause.Error(),
			core.LogCount, p.limits.Deaths, core.LogLimit, p.limits.Window, core.LogWait, wait)
	case final:
		p.log.Error("plugin cannot be started until this is mended; then `weft reload` or `weft plugin restart "+p.spec.title()+"`", core.LogWhy, e.Line())
	default:
		timer := time.NewTimer(wait)
		defer timer.Stop()
		due = timer.C
		p.log.Warn("plugin ended and is started again", core.LogWhy, cause.Error(), core.LogWait, wait.Round(time.Millisecond))
	}
	return p.wait(b, due)
}

// wait waits for the next start; none says that there is none.
func (p *Plugin) wait(b *breaker, due <-chan time.Time) (next request, none bool) {
	select {
	case <-due:
	case asked := <-p.again:
		b.forgive()
		return asked, false
	case <-p.ended.Done():
		p.change(func(s *Status) { s.State = Stopped })
		return request{}, true
	}
	return request{}, false
}

// start begins a life; Stop ends that at once.
func (p *Plugin) start() (*life, error) {
	ctx, cancel := context.WithTimeoutCause(p.ended, p.limits.Start+3*p.limits.Configure, errors.New("it did not start in time"))
	defer cancel()
	l, err := p.begin(ctx)
	if p.ended.Err() == nil {
		return l, err
	}
	if l != nil {
		p.finish(l, false)
	}
	return nil, errStop
}

func (p *Plugin) ready(l *life) {
	p.use(l)
	p.change(func(s *Status) { s.State, s.PID, s.Version, s.Why = Ready, l.pid, l.version, "" })
	attrs := []any{core.LogVersion, l.version}
	if l.pid != 0 {
		attrs = append(attrs, core.LogPID, l.pid)
	}
	p.log.Info("plugin is ready", attrs...)
}

// live watches a life until it is over: nil and who asked for a restart, errStop, or why it died.
func (p *Plugin) live(l *life) (asked request, err error) {
	// A life that is over is seen by nobody from the first moment on.
	var beat <-chan time.Time
	if l.health != nil {
		ticker := time.NewTicker(p.limits.HealthEvery)
		defer ticker.Stop()
		beat = ticker.C
	}
	misses := 0
	for {
		select {
		case <-l.dead:
			p.finish(l, false)
			return request{}, core.Errorf(p.spec.Kind.away(), "%s: %s", p.spec.title(), l.why())
		case <-p.ended.Done():
			p.finish(l, true)
			return request{}, errStop
		case asked = <-p.again:
			p.finish(l, true)
			return asked, nil
		case <-beat:
		}
		bad := p.beat(l)
		if bad == nil {
			if misses > 0 {
				misses = 0
				p.log.Info("plugin answers again")
				p.change(func(s *Status) { s.State, s.Why = Ready, "" })
			}
			continue
		}
		misses++
		if misses == 1 {
			p.log.Warn("plugin does not answer", core.LogWhy, bad.Error())
		}
		p.change(func(s *Status) { s.State, s.Why = Degraded, "it does not answer: "+bad.Error() })
		if misses >= p.limits.Misses {
			l.kill(fmt.Sprintf("killed: it missed %d health checks in a row", misses))
			p.finish(l, false)
			return request{}, core.Errorf(p.spec.Kind.away(), "%s: killed: it missed %d health checks in a row: %w", p.spec.title(), misses, bad)
		}
	}
}

// beat is one health check.
func (p *Plugin) beat(l *life) error {
	ctx, cancel := context.WithTimeout(l.ctx, p.limits.Health)
	defer cancel()
	defer context.AfterFunc(p.ended, cancel)()
	go func() {
		select {
		case <-l.dead: // it need not be waited for
			cancel()
		case <-ctx.Done():
		}
	}()
	err := l.health(ctx)
	if !l.alive() || p.ended.Err() != nil {
		return nil
	}
	if err != nil && core.AsError(err).Code == core.Unsupported {
		return nil // it answered
	}
	return err
}

// finish ends a life: calls in flight are waited for when it is polite, then it is told to end, then it is killed. One that the kernel does not let die is
// left behind: whoever waits for its answers goes on waiting.
func (p *Plugin) finish(l *life, polite bool) {
	p.use(nil)
	l.refuse()
	l.close()
	ctx, cancel := context.WithTimeout(context.Background(), p.limits.Drain)
	defer cancel()
	if polite {
		select {
		case <-l.idle:
			if l.drain != nil {
				if err := l.drain(ctx); err != nil && core.AsError(err).Code != core.Unsupported {
					p.log.Warn("plugin does not come to rest", core.LogError, err)
				}
			}
		case <-l.dead:
		case <-ctx.Done():
			p.log.Warn("plugin is ended with calls in flight", core.LogCount, l.inFlight(), core.LogLimit, p.limits.Drain)
		}
	}
	p.grave.Go(func() { <-l.dead })
	l.stop()
	if l.kill == nil {
		return
	}
	if p.within(l.dead, p.limits.Kill) {
		return
	}
	l.kill("killed: it did not end when it was told to")
	if !p.within(l.dead, p.limits.Kill) {
		p.log.Error("plugin's process does not die, so a system call of it hangs in the kernel; what it was at stays open until it does", core.LogPID, l.pid)
	}
}

func (p *Plugin) within(done <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// away is the error of a call that no life takes.
func (p *Plugin) away(state State, why string) error {
	text := map[State]string{
		Starting: "its plugin is starting", Backoff: "its plugin ended and is being started again", Failed: "its plugin is down",
		Stopped: "its plugin is stopped",
	}[state]
	if text == "" {
		text = "its plugin does not answer"
	}
	if why != "" {
		text += ": " + strings.TrimPrefix(why, p.spec.title()+": ")
	}
	if state == Failed {
		return core.Errorf(p.spec.Kind.away(), "%s: %w", p.spec.title(), core.Down(text)).
			WithRemedy("`weft plugin list` shows why; then `weft plugin restart " + p.spec.title() + "`")
	}
	return core.Errorf(p.spec.Kind.away(), "%s: %s", p.spec.title(), text)
}
