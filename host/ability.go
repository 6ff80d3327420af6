package host

import (
	"context"
	"slices"

	"github.com/weft-hpc/weft/core"
)

// half is one contract of a plugin.
type half[S any] struct {
	name string
	of   func(*life) S // nil: this life does not serve it
}

var (
	asNIC       = half[core.NICDriver]{"NICs", func(l *life) core.NICDriver { return l.nic }}
	asFabric    = half[core.FabricBackend]{"fabric", func(l *life) core.FabricBackend { return l.fabric }}
	asHooks     = half[core.Hooks]{"hooks", func(l *life) core.Hooks { return l.hooks }}
	asPhased    = able(core.AblePhases, func(l *life) core.Phased { p, _ := l.hooks.(core.Phased); return p })
	asParser    = able(core.AbleOptions, func(l *life) core.RequestParser { p, _ := l.hooks.(core.RequestParser); return p })
	asScheduler = half[core.SchedulerClient]{"scheduler", func(l *life) core.SchedulerClient { return l.scheduler }}
	asChecker   = half[core.Checker]{"checks", func(l *life) core.Checker { return l.checker }}
)

// able is an optional contract, for a life that told the ability. A type assertion would not do: the client of a process
// implements every contract.
func able[S any](ability core.Ability, of func(*life) S) half[S] {
	return half[S]{string(ability), func(l *life) (none S) {
		if slices.Contains(l.abilities, ability) {
			return of(l)
		}
		return none
	}}
}

// bound is a call of one half of one life.
func bound[S, T any](p *Plugin, l *life, of half[S], f func(S, context.Context) (T, error)) func(context.Context) (T, error) {
	return func(ctx context.Context) (T, error) {
		s := of.of(l)
		if any(s) == nil {
			var none T
			return none, core.Errorf(core.NotSupported, "%s: its plugin serves no %s", p.spec.title(), of.name)
		}
		return f(s, ctx)
	}
}

// only makes a call's function of one whose answer is its error.
func only[S any](f func(S, context.Context) error) func(S, context.Context) (struct{}, error) {
	return func(s S, ctx context.Context) (struct{}, error) { return struct{}{}, f(s, ctx) }
}
