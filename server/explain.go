package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
)

// Facts are what a reservation was decided on, so that it can be decided again. What only its owner and operators may see is empty for others.
type Facts struct {
	JobRow
	Policy  string    `json:"policy,omitempty"`  // hash of the policy that granted it
	Current bool      `json:"current,omitempty"` // it is the one in force
	Text    string    `json:"text,omitempty"`    // its files, as one text
	Facts   *core.Job `json:"facts,omitempty"`
	Nodes   int       `json:"system_nodes,omitempty"` // that config.hcl declares now
	Spread  int       `json:"spread,omitempty"`       // over how many groups of its topology the job is, as config.hcl is now
}

func (d *Verbs) explain(ctx context.Context, peer core.Peer, req hook.Request) (any, error) {
	var args JobArgs
	if err := req.Decode(&args); err != nil {
		return nil, err
	}
	all := peer.Root() || d.Admin(ctx, peer)
	var out []Facts
	var system engine.System
	err := d.Server.Look(ctx, func(m *engine.Machine) {
		system = m.System()
		for _, v := range d.find(m, args) {
			row := Facts{JobRow: jobRow(v)}
			if all || v.Job.UID == peer.UID && !v.Unknown {
				row.Facts, row.Nodes = &v.Job, system.Nodes
				row.Policy, row.Text, row.Current = v.Grant.Policy, m.Text(v.Grant.Policy), v.Grant.Policy == m.Policy()
			}
			out = append(out, row)
		}
	})
	switch {
	case err != nil:
		return nil, err
	case len(out) == 0:
		return nil, notHeld(args)
	}
	for i, row := range out {
		if row.Facts != nil {
			out[i].Spread = system.Topology.Spread(*row.Facts)
		}
	}
	slices.SortFunc(out, func(a, b Facts) int { return cmp.Compare(a.Serial, b.Serial) })
	return listener.Slice(req, out, func(r Facts) string { return fmt.Sprintf("%020d", r.Serial) })
}
