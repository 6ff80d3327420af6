package slurm

import (
	"context"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/poll"
)

// Watch asks squeue for all jobs, and again some time after each answer. Jobs that ended stay in it for MinJobAge: that they are final is then told at once.
func (p *Plugin) Watch(ctx context.Context, tell func(core.Jobs) error) error {
	return poll.Watch(ctx, p.settings.every, p.list, tell)
}

func (p *Plugin) list(ctx context.Context) ([]core.JobStatus, error) {
	all, err := p.query(ctx, every)
	if err != nil {
		return nil, err
	}
	return p.statuses(all), p.seesAll(ctx)
}

// statuses makes one status of each job; a het job's components are its leader's.
func (p *Plugin) statuses(all []row) []core.JobStatus {
	out := make([]core.JobStatus, 0, len(all))
	at := make(map[string]int, len(all))
	for _, r := range all {
		if r.leader == "" || r.leader == r.job {
			at[r.job] = len(out)
			s := core.JobStatus{Run: p.fingerprint(r), State: stateOf(r.state), Hosts: r.hosts()}
			if s.State == core.JobRunning {
				s.Started = r.started
			}
			out = append(out, s)
		}
	}
	for _, r := range all {
		if r.leader == "" || r.leader == r.job {
			continue
		}
		i, known := at[r.leader]
		if !known {
			continue // its leader has been forgotten, and with it the job
		}
		s := &out[i]
		if stateOf(r.state) != core.JobRunning || r.restarts != s.Generation {
			continue
		}
		if s.State != core.JobRunning {
			s.State, s.Hosts, s.Started = core.JobRunning, r.hosts(), r.started
		} else if s.Hosts != "" && r.hosts() != "" {
			s.Hosts = strings.Join([]string{s.Hosts, r.hosts()}, ",")
		}
	}
	return out
}

// hosts are the nodes of a row, or nothing where squeue shows only the beginning of their list.
func (r row) hosts() string {
	if r.cut[colNodes] {
		return ""
	}
	return r.nodes
}

func (p *Plugin) fingerprint(r row) core.Run {
	return core.Run{
		Key:         core.Key{JobID: core.JobID{Scheduler: p.name, Job: r.job}, Generation: r.restarts},
		Fingerprint: core.Fingerprint{UID: r.uid, Submitted: r.submitted},
	}
}
