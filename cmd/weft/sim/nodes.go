package sim

import (
	"context"
	"time"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/daemon/settings"
	"github.com/weft-hpc/weft/dev"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/plugins/local"
)

// simulated takes over what the blocks of the scheduler of type local and of the driver sim say: `weft dev` has no others. A dragonfly says how many
// NICs a node has.
func simulated(s *settings.Site, to *dev.Options) error {
	to.Local, to.NICs = "local", 4
	var findings []hclfile.Finding
	for _, p := range s.Config.Schedulers {
		if p.Type != "local" {
			continue
		}
		v, more := p.Apply(context.Background(), local.New(p.Name))
		findings = append(findings, more...)
		to.Local = p.Name
		if n, ok := v["jobs_per_user"].(int64); ok {
			to.PerUser = int(n)
		}
	}
	for _, p := range s.Config.Drivers {
		if p.Type != "sim" {
			continue
		}
		v, more := p.Apply(context.Background(), sim.New(sim.Options{}))
		findings = append(findings, more...)
		if n, ok := v["nics"].(int64); ok {
			to.NICs = int(n)
		}
		to.Latency, _ = v["latency"].(time.Duration)
		if shs, ok := v["shs"].(string); ok {
			to.Release = kernel.Named(shs)
		}
	}
	if d := s.Config.Dragonfly; d != nil {
		to.NICs, to.Address = d.NICsPerNode, d.Address
	}
	if hclfile.Failed(findings) {
		return cli.Unusable(s.Config.File, findings)
	}
	cli.Show(findings)
	return nil
}
