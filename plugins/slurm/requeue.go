package slurm

import (
	"context"

	"github.com/weft-hpc/weft/core"
)

// Requeue puts a job back into the queue that Weft could not serve, with the reason where its user finds it. Slurm lets it wait two minutes. What cannot
// come again (srun, salloc, --no-requeue) is ended.
func (p *Plugin) Requeue(ctx context.Context, key core.Key, reason string) error {
	r, err := p.current(ctx, key)
	if r == nil || err != nil {
		return err
	}
	p.tell(ctx, *r, reason)
	if r.batch && r.requeue {
		return p.command(ctx, "scontrol", "requeue", r.name())
	}
	return p.command(ctx, "scancel", r.name())
}
