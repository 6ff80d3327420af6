package daemon

import (
	"context"
	"errors"
	"sync"
)

// closers end what a daemon has opened, the last first.
type closers []func() error

func (c *closers) later(f func() error) { *c = append(*c, f) }

func (c closers) close() (err error) {
	for i := len(c) - 1; i >= 0; i-- {
		err = errors.Join(err, c[i]())
	}
	return err
}

// tasks run side by side until the daemon's context ends, or one of them fails.
type tasks struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	all    sync.WaitGroup
}

func newTasks(ctx context.Context) *tasks {
	t := &tasks{}
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	return t
}

func (t *tasks) run(f func(context.Context)) { t.all.Go(func() { f(t.ctx) }) }

// need runs what the daemon cannot do without: its error ends all tasks.
func (t *tasks) need(f func(context.Context) error) {
	t.run(func(ctx context.Context) {
		if err := f(ctx); err != nil {
			t.cancel(err)
		}
	})
}

func (t *tasks) wait() error {
	t.all.Wait()
	defer t.cancel(nil)
	if err := context.Cause(t.ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
