package mailbox

import (
	"context"
	"sync"

	"github.com/weft-hpc/weft/core"
)

// Authority is the way of agents to a server in their own process, where rpc does not stand between them.
type Authority struct{ core.Authority }

// Attend implements core.Authority. It calls told from one goroutine, which ends before Attend returns; told may wait.
func (a Authority) Attend(
	ctx context.Context, node string, first core.Report, next <-chan core.Report, told func(core.Orders),
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	box := New(node, cancel)
	var delivery sync.WaitGroup
	delivery.Go(func() {
		_ = box.Deliver(func(o core.Orders) error { told(o); return ctx.Err() })
	})
	defer delivery.Wait()
	defer box.Close()
	return a.Authority.Attend(ctx, node, first, next, box.Put)
}
