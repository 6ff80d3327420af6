package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon/settings"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/plugins/local"
)

// simulation is what the blocks of the scheduler of type local and of the driver sim say.
type simulation struct {
	label   string // the scheduler's
	perUser int
	nics    int
	latency time.Duration
	release *kernel.Behaviour
}

// simulated reads those blocks: `weft dev` has no others. A dragonfly says how many NICs a node has.
func simulated(s *settings.Site) (simulation, error) {
	out := simulation{label: "local", nics: 4}
	var findings []hclfile.Finding
	for _, p := range s.Config.Schedulers {
		if p.Type != "local" {
			continue
		}
		v, more := values(p, local.New(p.Name))
		findings = append(findings, more...)
		out.label = p.Name
		if n, ok := v["jobs_per_user"].(int64); ok {
			out.perUser = int(n)
		}
	}
	for _, p := range s.Config.Drivers {
		if p.Type != "sim" {
			continue
		}
		v, more := values(p, sim.New(sim.Options{}))
		findings = append(findings, more...)
		if n, ok := v["nics"].(int64); ok {
			out.nics = int(n)
		}
		out.latency, _ = v["latency"].(time.Duration)
		if shs, ok := v["shs"].(string); ok {
			out.release = kernel.Named(shs)
		}
	}
	if d := s.Config.Dragonfly; d != nil {
		out.nics = d.NICsPerNode
	}
	cli.Show(findings)
	if err := hclfile.AsError(findings); err != nil {
		return simulation{}, cli.Usage(fmt.Errorf("%s cannot be used", s.Config.File))
	}
	return out, nil
}

// values are a plugin's block, as the plugin itself takes them.
func values(p config.Plugin, plugin core.Configurable) (core.Values, []hclfile.Finding) {
	v, findings := p.Decode(plugin.Schema())
	if hclfile.AsError(findings) != nil {
		return v, findings
	}
	return v, append(findings, p.Complain(plugin.Configure(context.Background(), v))...)
}
