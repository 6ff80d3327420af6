package daemon

import (
	"context"
	"errors"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/host"
)

// driver starts the node's NIC driver. One that does not start yet is started again by itself.
func driver(ctx context.Context, site *Site, plugins *host.Host, in *blocks) (core.NICDriver, error) {
	blocks := site.Config.Drivers
	if len(blocks) != 1 {
		return nil, core.Errorf(core.BadConfig, "%s: it declares %d drivers, and a node has one", site.Config.File, len(blocks)).WithMend("leave one `driver` block")
	}
	s, findings := in.spec(host.Driver, blocks[0], host.Self)
	if len(findings) > 0 {
		return nil, findingsError(findings)
	}
	started, err := plugins.Start(ctx, s)
	if err != nil {
		if complaints := blocks[0].Complain(err); started == nil || len(complaints) > 0 && isPath(err) {
			return nil, findingsError(complaints)
		}
	}
	return plugins.NIC(blocks[0].Name)
}

func isPath(err error) bool {
	_, ok := errors.AsType[*core.PathError](err)
	return ok
}

// reread has the agent read the NICs whenever the driver was started again: its process was another, or has another block, so the NICs may be others. The
// agent's own reading comes a minute later.
func reread(ctx context.Context, plugins *host.Host, a *agent.Agent) {
	starts := -1 // of the driver, as read last: the agent reads when it starts by itself
	_ = plugins.Watch(ctx, func(states []host.Status) error {
		for _, s := range states {
			if s.Kind != host.Driver || s.State != host.Ready && s.State != host.Degraded || s.Starts == starts {
				continue
			}
			first := starts < 0
			if starts = s.Starts; first && starts == 1 {
				continue
			}
			if err := a.Reread(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}
