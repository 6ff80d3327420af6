package settings

import (
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/hostlist"
)

// observed are the schedulers whose jobs are only observed, but for those that an Enforce has; nil: there is none.
func observed(c *config.Config) map[string]engine.Observed {
	var out map[string]engine.Observed
	for _, p := range c.Schedulers {
		if !p.Observe {
			continue
		}
		if out == nil {
			out = map[string]engine.Observed{}
		}
		var o engine.Observed
		if e := p.Enforce; e != nil {
			o.Queues = e.Queues
			if set, err := hostlist.ParseSet(e.Nodes); e.Nodes != "" {
				o.Nodes = func(node string) bool { return err == nil && set.Contains(node) }
			}
		}
		out[p.Name] = o
	}
	return out
}
