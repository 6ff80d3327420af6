package daemon

import (
	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/allocator"
	"github.com/weft-hpc/weft/host"
)

// Examined is what a node's doctor must know of the site that of gives.
func Examined(of func() *Site, checks map[string]core.Checker) agent.Site {
	return agent.Site{
		Checks:  checks,
		Ours:    func(v core.VNI) bool { return of().has(v) },
		Classes: func() core.Classes { return of().Policy.Classes() },
		NICs: func() int {
			if d := of().Config.Dragonfly; d != nil {
				return d.NICsPerNode
			}
			return 0
		},
	}
}

// has reports whether a VNI is of one of the pools, or of a service's block.
func (s *Site) has(v core.VNI) bool {
	for _, p := range s.Pools {
		for _, r := range p.Ranges {
			if inRange(r, v) {
				return true
			}
		}
	}
	return false
}

func inRange(r allocator.Range, v core.VNI) bool {
	return v >= r.First && v <= r.Last && !v.IsDefault()
}

// examined is Examined of an agent that runs: the plugins that it has look for trouble too.
func (r *reloader) examined() agent.Site {
	checks := map[string]core.Checker{}
	site := r.site.Load()
	for kind, blocks := range map[host.Kind][]config.Plugin{host.Driver: site.Config.Drivers, host.Scheduler: site.Config.Schedulers} {
		for _, p := range blocks {
			if running := r.plugins.Plugin(kind, p.Name); running != nil {
				checks[string(kind)+" "+p.Name] = running.Checker()
			}
		}
	}
	return Examined(r.site.Load, checks)
}
