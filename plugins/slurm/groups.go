package slurm

import (
	"context"
	"strconv"
)

// groupsOf are the names of all groups of a job's user, which squeue does not tell, and of the job's own group.
func (p *Plugin) groupsOf(ctx context.Context, r row) ([]string, error) {
	u, err := p.people.UID(ctx, r.uid)
	if err != nil {
		return nil, err
	}
	own := r.group
	if own == "" {
		own = strconv.FormatUint(uint64(r.gid), 10)
	}
	return p.people.Groups(ctx, u, own)
}
