package cxi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weft-hpc/weft/core"
)

// visit runs do on a NIC in a thread of its own and gathers what it tells, each of the results once by its place. The
// error is for those that did not come: the NIC cannot be opened, or did not answer before ctx was over. visit returns
// then; do goes on until its call returns and begins no other.
func visit[T any](
	ctx context.Context, d *Driver, lib *library, c card, fresh bool, what string, results int,
	do func(n *nic, tell func(int, T)),
) (map[int]T, *core.Error) {
	start := time.Now()
	lane := d.lanes.lane(c.name)
	got := make(map[int]T, results)
	select {
	case lane.turn <- struct{}{}:
	case <-ctx.Done():
		return got, late(ctx, c.name, what, start, "an earlier call still waits for it")
	}
	type told struct {
		i int
		v T
	}
	out, opened := make(chan told, results), make(chan errno, 1) // neither ever blocks
	go func() {
		defer lane.leave()
		defer close(out)
		n, err := lane.enter(ctx, d, lib, c, fresh)
		opened <- err
		if err != ok {
			return
		}
		do(n, func(i int, v T) { out <- told{i, v} })
	}()
	over, last := ctx.Done(), (<-chan time.Time)(nil)
	for {
		select {
		case r, more := <-out:
			if more {
				got[r.i] = r.v
				continue
			}
			switch err := <-opened; {
			case len(got) == results:
				return got, nil
			case err != ok && err != ecanceled:
				return got, unopened(d.now().sys, c.name, err)
			case ctx.Err() != nil:
				return got, late(ctx, c.name, what, start, "it answered too late")
			}
			return got, core.Errorf(core.InternalFault, "NIC %s: %s: it has no result", c.name, what)
		case <-over:
			over, last = nil, time.After(grace)
		case <-last:
			return got, late(ctx, c.name, what, start, "it did not answer")
		}
	}
}

// once is a visit with one result.
func once[T any](
	ctx context.Context, d *Driver, lib *library, c card, fresh bool, what string, do func(*nic) T,
) (T, *core.Error) {
	got, err := visit(ctx, d, lib, c, fresh, what, 1, func(n *nic, tell func(int, T)) { tell(0, do(n)) })
	if len(got) > 0 {
		err = nil
	}
	return got[0], err
}

// grace is how long a call to the driver that was under way when time was up may still take, so that what it made is undone before the caller is told that
// it failed. The deadline that a visit knows is further before the caller's own.
const grace = 50 * time.Millisecond

// late is the error of a NIC that did not answer before the call was over.
func late(ctx context.Context, name, what string, start time.Time, why string) *core.Error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ended(ctx, "NIC "+name+": "+what)
	}
	return core.Errorf(core.NICFailed, "NIC %s: %s: %s within %v: %w", name, what, why, time.Since(start).Round(time.Millisecond), context.DeadlineExceeded)
}

// ended is the error of a call whose context was over before it began.
func ended(ctx context.Context, what string) *core.Error {
	return core.AsError(fmt.Errorf("%s: %w", what, ctx.Err()))
}

// beforeEnd is a context that ends a little before ctx's deadline: a call answers for the NICs that did work while its caller is still listening.
func beforeEnd(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-min(time.Until(deadline)/10, 250*time.Millisecond)))
}

// parallel runs f for each of n at the same time and waits for all.
func parallel(n int, f func(int)) {
	var all sync.WaitGroup
	for i := range n - 1 {
		all.Go(func() { f(i) })
	}
	if n > 0 {
		f(n - 1)
	}
	all.Wait()
}

// each gives each NIC those of the items that are its own, in their order. begin gives the function of one visit that
// makes an item's result; failed is the result of an item that has none.
func each[I, T any](
	ctx context.Context, d *Driver, what string, items []I, device func(*I) string,
	begin func(*nic) func(*I) T, failed func(*core.Error) T,
) ([]T, error) {
	ctx, stop := beforeEnd(ctx)
	defer stop()
	lib, cards, err := d.begin(ctx, what+"s")
	if err != nil && core.AsError(err).Reason != core.NICMissing {
		return nil, err
	}
	none := core.AsError(err)
	out, of := make([]T, len(items)), make([][]int, len(cards))
	for i := range items {
		name := device(&items[i])
		at := slices.IndexFunc(cards, func(c card) bool { return c.name == name })
		switch {
		case at >= 0:
			of[at] = append(of[at], i)
		case none != nil:
			out[i] = failed(none)
		default:
			out[i] = failed(core.Errorf(core.NICMissing, "NIC %s: %s: the node has no such NIC now", core.Clip(name), what))
		}
	}
	parallel(len(cards), func(at int) {
		mine := of[at]
		if len(mine) == 0 {
			return
		}
		got, err := visit(ctx, d, lib, cards[at], false, what, len(mine), func(n *nic, tell func(int, T)) {
			do := begin(n)
			for place, i := range mine {
				tell(place, do(&items[i]))
			}
		})
		for place, i := range mine {
			if v, came := got[place]; came {
				out[i] = v
			} else {
				out[i] = failed(err)
			}
		}
	})
	return out, nil
}
