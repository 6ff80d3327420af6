package local

import (
	"context"
	"sync"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/request"
)

// Plugin is the adapter: core.Hooks and core.Scheduler, with the Tables of the nodes that it is on. On an agent that is one; in `weft dev` one a node; a
// server elsewhere has none, and goes by the notes that agents make.
type Plugin struct {
	request.Dialect
	name   string
	tables []*Table

	mu   sync.Mutex
	told map[string]core.JobStatus // by job: what ran at the newest complete answer and since; some have ended
}

var (
	_ core.Hooks         = (*Plugin)(nil)
	_ core.Scheduler     = (*Plugin)(nil)
	_ core.Configurable  = (*Plugin)(nil)
	_ core.RequestParser = (*Plugin)(nil)
)

// New makes the adapter of the scheduler instance name, as config.hcl labels it.
func New(name string, tables ...*Table) *Plugin {
	return &Plugin{Dialect: dialect, name: name, tables: tables}
}

// Fail is not supported: `weft run` waits for its answer and shows it to the user itself.
func (p *Plugin) Fail(_ context.Context, key core.Key, _ string) error {
	return core.Errorf(core.NotSupported, "job %s: a local job is told by `weft run` itself that it cannot be", key)
}

// Drain is not supported: there is no scheduler; Weft's own flag keeps jobs off the node.
func (p *Plugin) Drain(_ context.Context, node, _ string) error {
	return core.Errorf(core.NotSupported, "node %s: no scheduler runs local jobs; Weft's own drain keeps them off", core.Clip(node))
}
