package plugin

import (
	"context"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/host"
)

// StartDriver starts the node's NIC driver. What is wrong with its block or its program, and does not pass by itself, ends the agent with the line of config.hcl: no
// job could start or be cleaned up here, and systemd tries again. A driver that does not start for another reason is started again by itself.
func StartDriver(ctx context.Context, c *config.Config, plugins *host.Host, in *Blocks) (core.NICDriver, error) {
	if n := len(c.Drivers); n != 1 {
		return nil, core.Errorf(core.BadConfig, "%s: it declares %d drivers, and a node has one", c.File, n).WithRemedy("leave one `driver` block")
	}
	block := c.Drivers[0]
	s, findings := in.Spec(host.Driver, block)
	if len(findings) > 0 {
		return nil, config.AsError(findings)
	}
	s.Needed = true
	started, err := plugins.Start(ctx, s)
	if err == nil {
		return started.NIC(), nil
	}
	if wrong := in.complaints(block, err); wrong != nil {
		return nil, config.AsError(wrong)
	}
	if e := core.AsError(err); started == nil || e.Reason == core.BadConfig || e.Reason == core.BadVersion {
		return nil, config.AsError(block.Complain(&core.PathError{Path: []string{blamed(s.Program)}, Err: err}))
	}
	return started.NIC(), nil
}

// blamed is the attribute of a block because of which its program cannot be run.
func blamed(p host.Program) string {
	bare := p
	if bare.SHA256 = ""; bare.Check() == nil && p.Check() != nil {
		return "sha256"
	}
	return "command"
}

// Reread has the agent read the NICs whenever the driver was started again: its process was another, or has another
// block, so the NICs may be others. It does so too when the driver fails, and when it begins, or ends, to miss health
// checks. The agent's own reading comes a minute later.
func Reread(ctx context.Context, plugins *host.Host, a *agent.Agent) {
	starts := -1 // of the driver, as read last: the agent reads when it starts by itself
	state := host.Ready
	_ = plugins.Watch(ctx, func(states []host.Status) error {
		for _, s := range states {
			if s.Kind != host.Driver || s.State != host.Ready && s.State != host.Degraded && s.State != host.Failed ||
				s.Starts == starts && s.State == state {
				continue
			}
			first := starts < 0
			starts, state = s.Starts, s.State
			if first && starts == 1 && state == host.Ready {
				continue
			}
			if err := a.Reread(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}
