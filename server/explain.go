package server

import (
	"context"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/hook"
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
	err := d.Server.Look(ctx, func(m *engine.Machine) {
		for _, v := range d.find(m, args) {
			row := Facts{JobRow: jobRow(v)}
			if all || v.Job.UID == peer.UID && !v.Unknown {
				job := v.Job
				row.Facts, row.Nodes, row.Spread = &job, m.System().Nodes, m.System().Topology.Spread(job)
				row.Policy, row.Text, row.Current = v.Grant.Policy, m.Text(v.Grant.Policy), v.Grant.Policy == m.Policy()
			}
			out = append(out, row)
		}
	})
	if err == nil && len(out) == 0 {
		err = core.Errorf(core.NotThere, "job %q: nothing is held for it", core.Clip(args.Job)).WithRemedy("`weft jobs` lists what is; a job that asked for no network has no reservation")
	}
	return out, err
}
