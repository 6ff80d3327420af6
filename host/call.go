package host

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/sdk"
)

// take gives the present life, with a call counted in it; it waits for one that is starting, for as long as Patience and ctx allow.
func (p *Plugin) take(ctx context.Context) (*life, error) {
	var patience <-chan time.Time
	for {
		p.mu.Lock()
		l, state, why, changed := p.life, p.status.State, p.status.Why, p.changed
		p.mu.Unlock()
		if l != nil && l.alive() && l.enter() {
			return l, nil
		}
		if state == Failed || state == Stopped {
			return nil, p.away(state, why)
		}
		if patience == nil {
			timer := time.NewTimer(p.limits.Patience)
			defer timer.Stop()
			patience = timer.C
		}
		select {
		case <-changed:
		case <-patience:
			return nil, p.away(state, why)
		case <-ctx.Done():
			return nil, p.away(state, why)
		}
	}
}

// ask makes a call that changes nothing, or whose repetition changes nothing: it ends with its context, or with the plugin's life.
func ask[S, T any](ctx context.Context, p *Plugin, what string, of half[S], f func(S, context.Context) (T, error)) (T, error) {
	ctx, cancel := p.limited(ctx)
	defer cancel()
	for {
		l, err := p.take(ctx)
		if err != nil {
			var none T
			return none, err
		}
		d := &delivery{}
		out, err := heed(context.WithValue(ctx, deliveryKey{}, d), l.guard, what, bound(p, l, of, f))
		l.leave()
		if err == nil || ctx.Err() != nil || l.kill == nil || !d.unheard(err) {
			return out, err
		}
		p.lost(l, "") // nobody heard it: the next life may
	}
}

// limited gives a deadline to a call that comes without one.
func (p *Plugin) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, p.limits.Call)
}

// lost ends a life whose connection has broken, which most often has ended by itself already.
func (p *Plugin) lost(l *life, during string) {
	if !p.within(l.dead, dying) {
		l.kill("killed: its connection broke" + during)
		<-l.dead
	}
}

// dying is how long a program whose connection broke has to be dead.
const dying = 300 * time.Millisecond

// follow makes a call that lasts: it ends with its context, or with the plugin's life, and a stop does not wait for it.
func follow[S any](ctx context.Context, p *Plugin, what string, of half[S], f func(S, context.Context) error) error {
	l, err := p.take(ctx)
	if err != nil {
		return err
	}
	l.leave()
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.ctx, cancel)()
	defer context.AfterFunc(ctx, cancel)()
	_, err = heed(within, l.guard, what, bound(p, l, of, only(f)))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if l.ctx.Err() != nil {
		s := p.Status()
		return p.away(s.State, s.Why)
	}
	return err
}

// delivery is how far a call got.
type delivery struct{ sent, answered atomic.Bool }

// unheard reports whether a call failed before anything of it left, since there is no connection.
func (d *delivery) unheard(err error) bool {
	return !d.sent.Load() && core.AsError(err).Code == core.Unavailable
}

type deliveryKey struct{}

// change makes a call that changes a NIC: see the package's comment. In the daemon the guard holds the rule.
func change[S, T any](ctx context.Context, p *Plugin, what string, of half[S], f func(S, context.Context) (T, error)) (T, error) {
	var none T
	if ctx.Err() != nil {
		return none, core.Errorf(core.TimedOut, "%s: %s: it is too late to begin: %w", p.spec.title(), what, ctx.Err())
	}
	ctx, cancel := p.limited(ctx)
	defer cancel()
	for {
		l, err := p.take(ctx)
		if err != nil {
			return none, err
		}
		out, heard, err := once(ctx, p, l, what, bound(p, l, of, f))
		if heard {
			return out, err
		}
	}
}

// once is one try; heard is false when no plugin did.
func once[T any](ctx context.Context, p *Plugin, l *life, what string, f func(context.Context) (T, error)) (out T, heard bool, err error) {
	defer l.leave()
	if l.guard != nil {
		out, err = await(ctx, l.guard, what, f)
		return out, true, err
	}
	d := &delivery{}
	deadline, _ := ctx.Deadline()
	beyond, cancel := context.WithDeadline(context.WithValue(context.WithoutCancel(ctx), deliveryKey{}, d), deadline.Add(p.limits.Grace))
	defer cancel()
	over := make(chan struct{})
	defer close(over)
	go p.limit(ctx, l, cancel, over, hung(what))
	out, err = f(metadata.AppendToOutgoingContext(beyond, sdk.WithinKey, strconv.FormatInt(time.Until(deadline).Milliseconds(), 10)))
	if err == nil || d.answered.Load() {
		return out, true, err
	}
	if d.unheard(err) {
		p.lost(l, "")
		return out, ctx.Err() != nil, err
	}
	if !d.sent.Load() {
		return out, true, err
	}
	// No answer came. Only a dead process does nothing more.
	if ctx.Err() != nil {
		l.kill(hung(what))
		<-l.dead
	} else {
		p.lost(l, " during "+what)
	}
	var none T
	return none, true, core.Errorf(p.spec.Kind.away(), "%s: %s: %s", p.spec.title(), what, l.why())
}

func hung(what string) string {
	return "killed: " + what + " did not return when it had to, and only a dead process does nothing more"
}

// limit ends a call and its process when it is not over Grace after its caller's patience.
func (p *Plugin) limit(ctx context.Context, l *life, cancel context.CancelFunc, over <-chan struct{}, reason string) {
	select {
	case <-over:
		return
	case <-ctx.Done():
	}
	timer := time.NewTimer(p.limits.Grace)
	defer timer.Stop()
	select {
	case <-over:
		return
	case <-l.dead:
	case <-timer.C:
		l.kill(reason)
	}
	cancel()
}

// watcher notes for a call that asks for it whether it was sent and answered: an error alone does not tell.
type watcher struct{}

var _ stats.Handler = watcher{}

// TagRPC is gRPC's.
func (watcher) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC is gRPC's.
func (watcher) HandleRPC(ctx context.Context, s stats.RPCStats) {
	d, ok := ctx.Value(deliveryKey{}).(*delivery)
	if !ok {
		return
	}
	switch s.(type) {
	case *stats.OutHeader:
		d.sent.Store(true)
	case *stats.InTrailer:
		d.answered.Store(true)
	}
}

// TagConn is gRPC's.
func (watcher) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn is gRPC's.
func (watcher) HandleConn(context.Context, stats.ConnStats) {}
