package agent

import (
	"context"

	"github.com/weft-hpc/weft/core"
)

// begin gives a step that prepared for itself what its tasks may use. That a prepare joined services is no proof that
// they are left: NICs may have restarted since.
func (a *Agent) begin(ctx context.Context, ask core.Intent, peer core.Peer, out *core.Outcome) {
	if !ask.Tells || out.Err != nil {
		return
	}
	ask.Action, ask.Key = core.Environment, out.Key
	now := a.Do(ctx, ask, peer)
	a.exception(ask, peer, &now)
	out.Environment, out.Err = now.Environment, now.Err
}
