package local

import (
	"context"
	"fmt"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/block"
)

// settings are the fields of a block `scheduler "local" "NAME"`.
func settings(perUser *int64) block.Fields {
	const doc = "How many jobs one user may have on a node at a time, 1 to 4096; root has no bound."
	return block.Fields{block.Value("jobs_per_user", core.KindInt, perUser, doc, func(n int64) error {
		if n < 1 || n > MaxJobs {
			return fmt.Errorf("%d: it is not a number from 1 to %d", n, MaxJobs)
		}
		return nil
	})}
}

// Schema of the adapter's block.
func (p *Plugin) Schema() core.Schema {
	perUser := int64(PerUser)
	return settings(&perUser).Schema()
}

// Configure sets jobs_per_user; jobs that run already stay.
func (p *Plugin) Configure(_ context.Context, values core.Values) error {
	perUser := int64(PerUser)
	if err := settings(&perUser).Read(values); err != nil {
		return err
	}
	for _, t := range p.tables {
		t.SetPerUser(int(perUser))
	}
	return nil
}
