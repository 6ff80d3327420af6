package life

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// site is one scheduler, a fake, with its adapter: it runs the adapter's hooks in its own order, and does to jobs and nodes what it does when they fail. Each
// job is of all nodes and of the same user.
type site interface {
	name() string
	uid() uint32
	process() *process // the adapter as it runs now
	die()              // the adapter's process is killed; a new one, which knows nothing, takes its place
	close()

	submit() string
	start(job string) (runs bool)    // it tries to start what waits, once; whether the job's tasks run
	vni(job, node string) string     // what a task is told; empty: it does not start
	finish(job string)               // its script ends
	cancel(job string) (over func()) // it is decided when cancel returns; over waits for the hooks of its end
	requeue(job string) bool         // false: this scheduler does not do that
	lose(node string)                // a node is gone: its jobs end, or are queued again, and the hooks run elsewhere
	mend(node string)                // that node is there again, and its agent too
	state(job string) string         // one of those below
	drained(node string) string      // why, or nothing
}

// States of a job.
const (
	waits = "waits"
	runs  = "runs"
	over  = "over"
)

// maker makes a site of a world.
type maker struct {
	name string
	make func(*world) site
}

// process is one life of an adapter.
type process struct {
	hooks     core.Hooks
	scheduler core.Scheduler
	polls     bool          // its Watch asks now and then: here, at once again
	again     time.Duration // after which its Watch is begun anew, where its own pause is too long for a test; 0: never
	dead      chan struct{}
}

func (p *process) over() bool {
	select {
	case <-p.dead:
		return true
	default:
		return false
	}
}

// adapter holds the process that lives.
type adapter struct {
	mu  sync.Mutex
	now *process
}

func (a *adapter) process() *process {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.now
}

func (a *adapter) replace(p *process) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.now != nil {
		close(a.now.dead)
	}
	p.dead = make(chan struct{})
	a.now = p
}

var errDied = core.Errorf(core.PluginAway, "the adapter's process died")

// half is a site's scheduler as the server has it.
type half struct {
	w *world
	s site
}

// Has implements core.SchedulerClient.
func (h half) Has(verb core.SchedulerVerb) bool {
	return core.Dispatcher{Of: h.s.process().scheduler}.Has(verb)
}

// Call implements core.SchedulerClient. A describe is lost with the process that was asked.
func (h half) Call(ctx context.Context, c core.SchedulerCall) (core.SchedulerReply, error) {
	p := h.s.process()
	if c.Verb == core.CallDescribe {
		if err := h.w.reach(atDescribe + h.s.name()); err != nil {
			return core.SchedulerReply{}, err
		}
	}
	if c.Verb == core.CallDrain {
		h.w.mu.Lock()
		h.w.drains = append(h.w.drains, fmt.Sprintf("%s %s: %s", h.s.name(), c.Node, c.Reason))
		h.w.mu.Unlock()
	}
	reply, err := core.Dispatcher{Of: p.scheduler}.Call(ctx, c)
	if c.Verb == core.CallDescribe && p.over() {
		return core.SchedulerReply{}, errDied
	}
	return reply, err
}

func (h half) Watch(ctx context.Context, tell func(core.Jobs) error) error {
	p := h.s.process()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-p.dead:
			cancel(errDied)
		case <-ctx.Done():
		}
	}()
	for p.again > 0 {
		part, done := context.WithTimeout(ctx, p.again)
		err := p.scheduler.Watch(part, tell)
		done()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
	if !p.polls {
		return p.scheduler.Watch(ctx, tell)
	}
	enough := errors.New("enough")
	pause := time.NewTicker(5 * time.Millisecond)
	defer pause.Stop()
	for {
		err := p.scheduler.Watch(ctx, func(jobs core.Jobs) error {
			if err := tell(jobs); err != nil || !jobs.Complete {
				return err
			}
			return enough
		})
		if !errors.Is(err, enough) {
			return err
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// front is a site's translating half as agents have it.
type front struct {
	w *world
	s site
}

// Parse is lost with the process that was asked, as Render is.
func (f front) Parse(ctx context.Context, call core.HookCall) (core.Intent, error) {
	p := f.s.process()
	if err := f.w.reach(atParse + f.s.name()); err != nil {
		return core.Intent{}, err
	}
	ask, err := p.hooks.Parse(ctx, call)
	if p.over() {
		return core.Intent{}, errDied
	}
	return ask, err
}

func (f front) Render(ctx context.Context, call core.HookCall, o core.Outcome) (core.HookReply, error) {
	p := f.s.process()
	if err := f.w.reach(atRender + f.s.name()); err != nil {
		return core.HookReply{}, err
	}
	reply, err := p.hooks.Render(ctx, call, f.w.judging(o))
	if p.over() {
		return core.HookReply{}, errDied
	}
	return reply, err
}

const deniedText = "its user gets nothing"

// refusing is the shipped policy, and a user who is denied.
type refusing struct {
	engine.Policy
	w *world
}

func (r refusing) Decide(f engine.Facts) engine.Decision {
	r.w.mu.Lock()
	denied := r.w.denied
	r.w.mu.Unlock()
	if denied != nil && f.Job.Scheduler == denied.name() && f.Job.UID == denied.uid() {
		return engine.Decision{Deny: core.Errorf(core.PolicyDenied, "job %s: %s", f.Job.Key, deniedText)}
	}
	return r.Policy.Decide(f)
}
