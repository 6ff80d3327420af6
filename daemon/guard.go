package daemon

import (
	"context"
	"log/slog"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
)

// rootOnly guards a verb of an agent: who runs the agent may call it, and root.
func rootOnly(verb string, then listener.Handler) listener.Handler {
	return func(ctx context.Context, peer core.Peer, req hook.Request) (any, error) {
		var err error
		if req.Right, err = agent.Privileged(peer, verb); err != nil {
			return nil, err
		}
		return then(ctx, peer, req)
	}
}

// VerbBypass tells an agent that a bypass was begun or ended, for its audit.
const VerbBypass = "bypass"

type BypassArgs struct {
	What string `json:"what"`
}

// bypassVerb writes a bypass that was begun or ended into the agent's audit.
func bypassVerb(audit *slog.Logger) listener.Handler {
	return func(_ context.Context, peer core.Peer, req hook.Request) (any, error) {
		var args BypassArgs
		if err := req.Decode(&args); err != nil {
			return nil, err
		}
		audit.Warn(VerbBypass, append(peer.Audited(req.ID, req.Right), core.LogWhy, core.Clip(args.What))...)
		return struct{}{}, nil
	}
}
