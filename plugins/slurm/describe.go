package slurm

import (
	"context"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/request"
	"github.com/weft-hpc/weft/core/scheduler"
)

// Describe tells a job's facts as squeue has them; of the note it takes how the job's CPUs are spread over its nodes, which squeue does not tell.
func (p *Plugin) Describe(ctx context.Context, key core.Key, text []byte, from core.Peer) (core.Job, error) {
	if !from.Root() {
		return core.Job{}, core.Errorf(core.NotAllowed, "job %s: uid %d is not slurmd", key.JobID, from.UID)
	}
	if err := checkJob(key.Job); err != nil {
		return core.Job{}, err
	}
	n := note{Job: key.Job} // of a job that is only observed: no hook asks
	if len(text) > 0 {
		var err error
		if n, err = readNote(text); err != nil {
			return core.Job{}, err
		}
	}
	parts, err := p.parts(ctx, key.Job)
	if err != nil {
		return core.Job{}, err
	}
	if first := pick(parts, key.Job); first != nil && first.leader != "" && first.leader != first.job && key.Generation == core.AnyGeneration {
		key.Job = first.leader // slurmstepd does not know it
		if parts, err = p.parts(ctx, key.Job); err != nil {
			return core.Job{}, err
		}
	}
	leader, own := pick(parts, key.Job), pick(parts, n.Job)
	if leader == nil || own == nil {
		return core.Job{}, core.Errorf(core.JobUnknown, "job %s: Slurm does not know it", key.Job)
	}
	job := core.Job{Run: p.fingerprint(*leader), GID: leader.gid, User: leader.user, Account: leader.account, Queue: leader.partition, Told: leader.told()}
	job.Scheduler = key.Scheduler
	if leader.leader != "" && leader.leader != leader.job {
		return core.Job{}, core.Errorf(core.JobUnknown, "job %s: it is a component of the het job %s", key.Job, leader.leader)
	}
	if !lives(*own) || leader.restarts > key.Generation {
		job.Gone = true
		return job, nil
	}
	if err := leader.readable(); err != nil {
		return core.Job{}, err
	}
	nodes, err := shares(parts, n)
	if err != nil {
		return core.Job{}, err
	}
	p.totals(ctx, nodes, parts)
	job.Placements = scheduler.Shares(nodes)
	if job.Request, err = requested(parts, leader); err != nil {
		return core.Job{}, err
	}
	job.Groups, err = p.groupsOf(ctx, *leader)
	return job, err
}

// speaking is how long of a caller's time is kept back at most for the words of a failure.
const speaking = 250 * time.Millisecond

// parts are the rows of a job. A list of nodes that was cut is asked for once more, in its full length.
func (p *Plugin) parts(ctx context.Context, job string) ([]row, error) {
	if until, ok := ctx.Deadline(); ok { // the caller hears from here who did not answer, and not merely that its time is over
		left := time.Until(until)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, left-min(left/8, speaking))
		defer cancel()
	}
	parts, err := p.questions.About(ctx, job, p.settings.patient)
	if late := ctx.Err(); err != nil && late != nil {
		return nil, core.Errorf(core.SchedulerAway, "job %s: slurmctld did not answer squeue in time: %w", job, late)
	}
	if err != nil {
		return nil, err
	}
	for _, r := range parts {
		if r.cut[colNodes] {
			ctx, cancel := context.WithTimeout(ctx, p.settings.patient)
			defer cancel()
			return p.query(ctx, about(wide), "-j", job)
		}
	}
	return parts, nil
}

func pick(parts []row, job string) *row {
	for i := range parts {
		if parts[i].job == job {
			return &parts[i]
		}
	}
	return nil
}

// lives reports whether a job has nodes and is not about to lose them: one that is completing gets nothing new.
func lives(r row) bool { return stateOf(r.state) == core.JobRunning && r.state != completing }

// readable refuses what squeue could not show whole, and an account that is no name: policy would decide on something else than what the job has.
func (r row) readable() error {
	for _, c := range []string{colUser, colGroup, colPartition, colAccount} {
		if r.cut[c] {
			return core.Errorf(core.BadRequest, "job %s: its %s is longer than 256 bytes", r.job, strings.ToLower(c))
		}
	}
	if !scheduler.Printable(r.account) {
		return core.Errorf(core.BadRequest, "job %s: its account %q is no name", r.job, core.Clip(r.account))
	}
	return nil
}

// told are the facts that some schedulers have. A text that squeue could not show whole is unknown.
func (r row) told() core.Told {
	return core.Told{
		QOS: scheduler.Told(r.qos), Reservation: scheduler.Told(r.reserved), TimeLimit: r.limit,
		Constraints: scheduler.Told(r.features),
	}
}

// requested is what the user asked for. The components of a het job share one reservation, as with switch/hpe_slingshot:
// the first one's request counts. A mistake in any of them is one of the job.
func requested(parts []row, leader *row) (core.Request, error) {
	all, err := leader.request()
	if err != nil {
		return core.Request{}, err
	}
	for _, c := range parts {
		if c.network == leader.network {
			continue
		}
		if _, err := c.request(); err != nil {
			return core.Request{}, core.Errorf(core.BadRequest, "component %s: %w", c.job, err).WithRemedy(core.AsError(err).Remedy)
		}
		all.Warnings = append(all.Warnings, "--network of component "+c.job+" has no effect: the job's first component says what all get")
	}
	return all, nil
}

func (r row) request() (core.Request, error) {
	if r.cut[colNetwork] {
		return core.Request{}, core.Errorf(core.BadRequest, "--network: it has more than %d bytes", request.MaxBytes)
	}
	return dialect.ParseText(r.network)
}
