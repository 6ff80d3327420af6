package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/refusal"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
	"github.com/weft-hpc/weft/poll"
)

// work is one call to one NIC. Just one of do and fail is called, with the folder locked or after the last lock.
type work struct {
	device int    // place on the bus; where name is set, run fills it in
	name   string // of the NIC; empty: run fills it in
	call   Call
	do     func(*kernel.NIC)
	fail   func(*core.Error)
}

// waiting is work that has to wait: NICs work beside each other, the calls to one after another.
type waiting struct {
	work
	due  time.Duration
	hang bool
}

// run does the works: those that need not wait under one lock and with one write, the others when they are due, with the folder unlocked meanwhile, so
// that a slow NIC stops no other. The error is for a call that failed as a whole.
func (d *Driver) run(ctx context.Context, works []work, writes bool) error {
	start := time.Now()
	limit, stop := beforeEnd(ctx, start)
	defer stop()
	var later []waiting
	err := d.locked(ctx, writes, func() {
		var until [MaxNICs]time.Duration
		for i := range works {
			w := &works[i]
			if w.name == "" && w.device < len(d.nics) {
				w.name = d.name(w.device)
			}
			w.device = d.index(w.name)
			if !d.there(w) {
				continue
			}
			delay, hang, failed := d.consult(w.device, w.call)
			switch {
			case failed:
				w.fail(refusal.Error(w.name, w.call.failed(), 0, kernel.EIO))
			case hang || delay > 0 || until[w.device] > 0:
				until[w.device] += delay
				later = append(later, waiting{*w, until[w.device], hang})
			default:
				w.do(&d.nics[w.device])
			}
		}
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(later, func(a, b waiting) int { return int(a.due - b.due) })
	for i, w := range later {
		if w.hang {
			continue
		}
		if !poll.Pause(limit, w.due-time.Since(start)) {
			break
		}
		later[i].do = nil
		err := d.locked(ctx, writes, func() {
			if d.there(&w.work) {
				w.do(&d.nics[w.device])
			}
		})
		if err != nil {
			w.fail(core.AsError(err))
		}
	}
	later = slices.DeleteFunc(later, func(w waiting) bool { return w.do == nil })
	if len(later) > 0 {
		<-limit.Done()
	}
	for _, w := range later {
		what := fmt.Sprintf("NIC %s: %s", w.name, w.call.failed())
		if errors.Is(ctx.Err(), context.Canceled) {
			w.fail(ended(ctx, what))
			continue
		}
		w.fail(core.Errorf(core.NICFailed, "%s: it did not answer within %v: %w", what, time.Since(start).Round(time.Millisecond), context.DeadlineExceeded))
	}
	return nil
}

// there tells w where its NIC is not there, or no more.
func (d *Driver) there(w *work) bool {
	if w.device >= 0 && w.device == d.index(w.name) {
		return true
	}
	w.fail(core.Errorf(core.NICMissing, "NIC %s: %s: the node has no such NIC now", core.Clip(w.name), w.call.failed()))
	return false
}

// ended is the error of a call whose context is over.
func ended(ctx context.Context, what string) *core.Error {
	return core.AsError(fmt.Errorf("%s: %w", what, ctx.Err()))
}

// beforeEnd is a context that ends a little before ctx's deadline: a call answers for the NICs that did work while its caller is still listening.
func beforeEnd(ctx context.Context, now time.Time) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, deadline.Add(-min(deadline.Sub(now)/10, 100*time.Millisecond)))
}
