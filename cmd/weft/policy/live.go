package policy

import (
	"cmp"
	"context"
	"fmt"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/policy"
	"github.com/weft-hpc/weft/server"
)

// granted is what the server has of a job that is explained.
type granted struct {
	State      string       `json:"state"`
	Generation uint32       `json:"generation"`
	VNIs       core.VNIList `json:"vnis"`
	Current    bool         `json:"current"` // the policy that granted it is the one in force
}

func (g *granted) whose() string {
	if g.Current {
		return "the policy in force"
	}
	return "a policy that is not in force any more"
}

// granted asks the server for a job's facts and its policy, and decides again.
func (a *explainArgs) granted(ctx context.Context, o *cli.Options) (explained, error) {
	job, err := cli.JobName(a.live)
	if err != nil {
		return explained{}, err
	}
	rows, err := cli.List[server.Facts](ctx, o, "explain", server.JobArgs{Job: job})
	if err != nil {
		return explained{}, err
	}
	rows = server.JoinedFacts(rows)
	row := rows[0]
	for _, r := range rows[1:] { // of the generations of a job the newest, as it is the one that runs
		if r.Scheduler != row.Scheduler {
			return explained{}, core.Errorf(core.BadCall, "job %s: schedulers %s and %s have one of that id", core.Clip(a.live), row.Scheduler, r.Scheduler).WithRemedy("write SCHEDULER/ID")
		}
		if r.Serial > row.Serial {
			row = r
		}
	}
	switch {
	case row.Unknown:
		return explained{}, core.Errorf(core.NotSupported, "job %s: Weft did not make these services, so no policy decided on them", core.Clip(a.live))
	case row.Facts == nil:
		return explained{}, core.Errorf(core.NotAllowed, "job %s: it is not yours", core.Clip(a.live)).WithRemedy("its owner may ask for it, root and members of admin_group; `weft job` shows what others may see of it")
	case row.Text == "":
		return explained{}, core.Errorf(core.NotThere, "job %s: the server has no policy that it was granted by", core.Clip(a.live)).
			WithRemedy("it was found on its nodes after a store was lost; what it would get now `weft policy explain --job` says")
	}
	p, err := policy.Restore(row.Text)
	if err != nil {
		return explained{}, fmt.Errorf("job %s: the policy that it was granted by cannot be read by this version of weft: %w", core.Clip(a.live), err)
	}
	out := asExplained(p, engine.Facts{
		Job: *row.Facts, System: engine.System{Nodes: row.Nodes}, Spread: row.Spread, Now: cmp.Or(a.job.Moment(), row.Now),
	})
	out.Live = &granted{row.State, row.Generation, row.VNIs, row.Current}
	return out, nil
}
