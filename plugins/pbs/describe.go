package pbs

import (
	"context"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/scheduler"
)

// Describe tells a job's facts as qstat has them. Inside of runjob and jobobit, where pbs_server waits for the hook and answers nobody, they are those that the
// hook gave: only root on pbs_server's own host can have done so.
func (p *Plugin) Describe(ctx context.Context, key core.Key, text []byte, from core.Peer) (core.Job, error) {
	if !from.Root() {
		return core.Job{}, core.Errorf(core.NotAllowed, "job %s: uid %d is not PBS", key.JobID, from.UID)
	}
	if err := checkJob(key.Job); err != nil {
		return core.Job{}, err
	}
	var n note
	if len(text) > 0 { // else no hook asks
		var err error
		if n, err = readNote(text); err != nil {
			return core.Job{}, err
		}
	}
	if n.Facts != nil {
		if from.Node != "" {
			return core.Job{}, core.Errorf(core.NotAllowed, "job %s: node %s tells facts that only pbs_server's own host may tell", key.JobID, from.Node)
		}
		return p.claimed(ctx, key, *n.Facts)
	}
	r, err := p.job(ctx, key.Job)
	if err != nil {
		return core.Job{}, err
	}
	if r == nil {
		return core.Job{}, core.Errorf(core.JobUnknown, "job %s: PBS does not know it", key.Job)
	}
	u, err := p.user(ctx, r.user, r.group)
	if err != nil {
		return core.Job{}, err
	}
	job := r.described(key.Scheduler, u)
	if !r.lives() || r.runs > key.Generation {
		job.Gone = true
		return job, nil
	}
	if r.odd != "" {
		return core.Job{}, unreadable("job " + r.id + ": its " + r.odd)
	}
	if err := checkWords(r.id, r.queue, r.account); err != nil {
		return core.Job{}, err
	}
	chunks, err := placed(*r)
	if err != nil {
		return core.Job{}, err
	}
	job.Told = r.told()
	job.Placements = p.shares(ctx, chunks, r.place)
	job.Request, err = parseWanted(r.wanted)
	return job, err
}

func (r row) described(scheduler string, u user) core.Job {
	return core.Job{
		Run: r.run(scheduler, u.uid),
		GID: u.gid, User: r.user, Groups: u.groups, Account: r.account, Queue: r.queue,
	}
}

// told are the facts that PBS has: a job without a walltime has no limit.
func (r row) told() core.Told {
	t := core.Told{Reservation: scheduler.Told(r.reserved), TimeLimit: new(core.Unlimited)}
	if n, ok := scheduler.Clock(r.walltime); ok {
		t.TimeLimit = &n
	} else if r.walltime != "" {
		t.TimeLimit = nil
	}
	return t
}

// run identifies the run that a row of qstat shows.
func (r row) run(scheduler string, uid uint32) core.Run {
	return core.Run{
		Key:         core.Key{JobID: core.JobID{Scheduler: scheduler, Job: r.id}, Generation: r.runs},
		Fingerprint: core.Fingerprint{UID: uid, Submitted: r.submitted},
	}
}

// lives reports whether a job has nodes and is not about to lose them: one that exits gets nothing new.
func (r row) lives() bool { return stateOf(r.state) == core.JobRunning && r.state != stateExiting }

// claimed are the facts of a job that is not on nodes yet, or not any more.
func (p *Plugin) claimed(ctx context.Context, key core.Key, f facts) (core.Job, error) {
	u, err := p.user(ctx, f.User, f.Group)
	if err != nil {
		return core.Job{}, err
	}
	if !readable(f.Account) {
		return core.Job{}, unreadable("job " + key.Job + ": its account")
	}
	r := row{id: key.Job, user: f.User, queue: f.Queue, account: f.Account, submitted: f.Submitted, runs: key.Generation}
	if err := checkWords(r.id, r.queue, r.account); err != nil {
		return core.Job{}, err
	}
	job := r.described(key.Scheduler, u)
	if f.Vnodes != "" {
		chunks, err := vnodes(f.Vnodes)
		if err != nil {
			return core.Job{}, err
		}
		job.Placements = grouped(chunks)
	}
	job.Request, err = parseWanted(f.Wanted)
	return job, err
}

// checkWords refuses what is no name: policy would decide on something else than what a person sees.
func checkWords(job string, words ...string) error {
	for _, w := range words {
		if !scheduler.Printable(w) {
			return core.Errorf(core.BadRequest, "job %s: its account or queue %q is no name", job, core.Clip(w))
		}
	}
	return nil
}
