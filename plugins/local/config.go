package local

import (
	"context"

	"github.com/weft-hpc/weft/core"
)

// jobsPerUser is the one field of the adapter's block.
const jobsPerUser = "jobs_per_user"

// Schema of a block `scheduler "local" "NAME"`.
func (p *Plugin) Schema() core.Schema {
	return core.Schema{Fields: []core.Field{{
		Name: jobsPerUser, Kind: core.KindInt, Default: int64(PerUser),
		Doc: "How many jobs one user may have on a node at a time, 1 to 4096; root has no bound.",
	}}}
}

// Configure sets jobs_per_user; jobs that run already stay.
func (p *Plugin) Configure(_ context.Context, values core.Values) error {
	n := int64(PerUser)
	if v, ok := values[jobsPerUser]; ok && v != nil {
		if n, ok = v.(int64); !ok || n < 1 || n > MaxJobs {
			return &core.PathError{
				Path: []string{jobsPerUser},
				Err:  core.Errorf(core.BadConfig, "jobs_per_user: %v: it is not a number from 1 to %d", v, MaxJobs),
			}
		}
	}
	for _, t := range p.tables {
		t.SetPerUser(int(n))
	}
	return nil
}
