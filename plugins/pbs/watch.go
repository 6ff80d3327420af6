package pbs

import (
	"context"
	"errors"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/people"
	"github.com/weft-hpc/weft/poll"
)

// Watch asks qstat for all jobs, and again some time after each answer. One that has ended is not in it; jobobit tells that sooner and for certain.
func (p *Plugin) Watch(ctx context.Context, tell func(core.Jobs) error) error {
	return poll.Watch(ctx, p.settings.every, p.list, tell)
}

func (p *Plugin) list(ctx context.Context) ([]core.JobStatus, error) {
	all, err := p.jobs(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]core.JobStatus, 0, len(all))
	for _, r := range all {
		u, err := p.account(ctx, r.user)
		if errors.Is(err, people.ErrUnknown) {
			continue // nothing was ever granted to a user whom this host does not know, and one such job must not keep all others' VNIs
		}
		if err != nil {
			return nil, err
		}
		s := core.JobStatus{Run: r.run(p.name, u.UID), State: stateOf(r.state), Hosts: hostsOf(r.hosts)}
		if s.State == core.JobRunning && r.substate != prerun {
			s.Started = r.started
		}
		out = append(out, s)
	}
	return out, p.seesAll(ctx, all)
}
