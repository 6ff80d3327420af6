package settings

import (
	"slices"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/allocator"
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
	return !v.IsDefault() && slices.ContainsFunc(s.Pools, func(p allocator.Pool) bool { return p.Contains(v) })
}
