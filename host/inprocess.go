package host

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/weft-hpc/weft/core"
)

// guard keeps a value in the daemon from taking the daemon along: a panic costs its call, and a call that does not heed its context is not waited for. But
// what changes a NIC is, however long: nobody can end it, and it must not be taken for over.
type guard struct {
	p     *Plugin
	log   *slog.Logger
	slots chan struct{} // calls running, those that nobody waits for any more included
}

// inside begins the only life of a value in the daemon.
func (p *Plugin) inside(ctx context.Context, version string) (*life, error) {
	g := &guard{p: p, log: p.log, slots: make(chan struct{}, p.limits.Calls)}
	l := newLife()
	l.version, l.guard = version, g
	dead := make(chan struct{})
	l.dead, l.stop = dead, sync.OnceFunc(func() { close(dead) })
	l.why = func() string { return "it was ended" }
	v := p.spec.Value
	l.nic, _ = v.(core.NICDriver)
	l.fabric, _ = v.(core.FabricBackend)
	l.hooks, _ = v.(core.Hooks)
	if s, ok := v.(core.Scheduler); ok {
		l.scheduler = core.Dispatcher{Of: s}
	}
	l.checker, _ = v.(core.Checker)
	l.abilities = core.Abilities(v)
	if err := p.serves(l, "its value in the daemon"); err != nil {
		l.close()
		return nil, err
	}
	c, _ := v.(core.Configurable)
	ctx, cancel := context.WithTimeout(ctx, p.limits.Configure)
	defer cancel()
	_, err := heed(ctx, g, "configure", func(ctx context.Context) (struct{}, error) { return struct{}{}, p.configure(ctx, schemaOf(c), c) })
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func schemaOf(c core.Configurable) func(context.Context) (core.Schema, error) {
	if c == nil {
		return nil
	}
	return func(context.Context) (core.Schema, error) { return c.Schema(), nil }
}

type outcome[T any] struct {
	value T
	err   error
}

// heed runs a call that may be left alone at its context's end. A life that is a process has no guard, and needs none.
func heed[T any](ctx context.Context, g *guard, what string, f func(context.Context) (T, error)) (T, error) {
	if g == nil {
		return f(ctx)
	}
	var none T
	select {
	case g.slots <- struct{}{}:
	default:
		return none, core.Errorf(core.Overloaded, "%s: %s: %d calls of it run already", g.p.spec.title(), what, cap(g.slots)).
			WithRemedy("calls that never return fill it: look for the plugin in the daemon's log; `in_process = false` lets it be restarted")
	}
	done := make(chan outcome[T], 1)
	go func() {
		defer func() { <-g.slots }()
		v, err := caught(g, what, func() (T, error) { return f(ctx) })
		done <- outcome[T]{v, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
	}
	select { // it may have heeded the same end
	case o := <-done:
		return o.value, o.err
	default:
		return none, core.Errorf(core.TimedOut, "%s: %s: it did not return in time: %w", g.p.spec.title(), what, ctx.Err())
	}
}

// await runs a call to its end, whatever its context says. While it is late the plugin shows as degraded.
func await[T any](ctx context.Context, g *guard, what string, f func(context.Context) (T, error)) (T, error) {
	over, noted := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(noted)
		select {
		case <-over:
			return
		case <-ctx.Done():
		}
		timer := time.NewTimer(g.p.limits.Grace)
		defer timer.Stop()
		select {
		case <-over:
			return
		case <-timer.C:
		}
		g.p.late(what, 1)
		<-over
		g.p.late(what, -1)
	}()
	defer func() { close(over); <-noted }()
	return caught(g, what, func() (T, error) { return f(ctx) })
}

// late counts calls that have not returned in time.
func (p *Plugin) late(what string, by int) {
	p.change(func(s *Status) {
		p.stuck += by
		switch {
		case p.stuck > 0 && (s.State == Ready || s.State == Degraded):
			s.State, s.Why = Degraded, fmt.Sprintf("%s has not returned in time; a plugin in the daemon cannot be ended", what)
		case p.stuck == 0 && s.State == Degraded:
			s.State, s.Why = Ready, ""
		}
	})
	if by > 0 {
		p.log.Warn("call has not returned in time", core.LogVerb, what)
	}
}

// caught turns a panic into an error.
func caught[T any](g *guard, what string, f func() (T, error)) (v T, err error) {
	defer func() {
		if r := recover(); r != nil {
			g.log.Error("plugin panicked", core.LogVerb, what, core.LogPanic, fmt.Sprint(r), core.LogStack, string(debug.Stack()))
			err = core.Errorf(core.InternalFault, "%s: %s: it panicked: %v", g.p.spec.title(), what, r).WithRemedy("report it, with the stack in the daemon's log")
		}
	}()
	return f()
}
