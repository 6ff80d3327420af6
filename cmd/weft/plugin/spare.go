package plugin

import (
	"slices"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/allocator"
	"github.com/weft-hpc/weft/sdk/conformance"
)

func pooled(pools []allocator.Pool, v core.VNI) bool {
	return slices.ContainsFunc(pools, func(p allocator.Pool) bool { return p.Contains(v) })
}

// spareVNIs are the highest that no pool and no service has; there may be none.
func spareVNIs(c *config.Config) []core.VNI {
	pools := c.Allocator()
	var out []core.VNI
	for v := core.VNI(65535); v > 0 && len(out) < len(conformance.TestVNIs); v-- {
		if !v.IsDefault() && !pooled(pools, v) {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}

// chosenVNIs reads --vnis. Those of a pool are refused: a job on any node may have them.
func chosenVNIs(text string, c *config.Config) ([]core.VNI, error) {
	const most = 64
	ranges, err := allocator.ParseRanges(text)
	if err != nil {
		return nil, cli.Usage("vnis %q: %w", core.Clip(text), err)
	}
	var out []core.VNI
	for _, r := range ranges {
		for v := int(r.First); v <= int(r.Last); v++ {
			switch v := core.VNI(v); {
			case len(out) == most:
				return nil, cli.Usage("vnis %q: more than %d; five are enough", core.Clip(text), most)
			case v.IsDefault():
				return nil, cli.Usage("VNI %d: it is the default service's", v)
			case c != nil && pooled(c.Allocator(), v):
				return nil, core.Errorf(core.BadCall, "VNI %d: it is in a pool or service of %s, so a job may have it", v, c.File).
					WithRemedy("name VNIs outside every pool, or leave --vnis out")
			default:
				out = append(out, v)
			}
		}
	}
	return out, nil
}
