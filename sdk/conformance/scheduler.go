package conformance

import (
	"context"
	"errors"
	"time"

	"github.com/weft-hpc/weft/core"
)

// noJob and noNode are what no scheduler has: the id is above the highest that Slurm gives (MaxJobId), and a job of another scheduler is not called so.
var (
	noJob  = core.Key{JobID: core.JobID{Scheduler: "weft-verify", Job: "67108862"}}
	noNode = "weft-verify-no-such-node"
)

var schedulerCases = []Case{
	{"a job that its scheduler does not know is told as not found, or as gone", "S2", OfScheduler, func(t *T) {
		for range 2 {
			job, err := core.Describe(t.ctx, t.Scheduler, noJob, t.note(), core.Peer{})
			t.here("Describe", err)
			if err == nil && job.Gone {
				continue
			}
			if err == nil {
				t.Fatalf("Describe of a job that does not exist answers %+v: what a hook claims is not the scheduler's truth", job.Run)
			}
			t.code("Describe", err, core.NotFound, core.Denied, core.Invalid)
		}
	}},
	{"a job that runs is told as its scheduler has it, whatever is claimed of it", "S2", OfScheduler, func(t *T) {
		j := t.job()
		job, err := core.Describe(t.ctx, t.Scheduler, j.Key, j.Note, j.From)
		t.unsupported("Describe", err)
		t.must(err, "Describe")
		if job.Run != j.Run || job.Gone || len(job.Placements) == 0 {
			t.Errorf("Describe: %+v, gone %v, %d shares; want %+v with its nodes", job.Run, job.Gone, len(job.Placements), j.Run)
		}
		for _, s := range job.Placements {
			if s.Hosts == "" || s.Nodes < 1 || s.Cores < 1 {
				t.Errorf("Describe: share %+v: it needs hosts, nodes and cores", s)
			}
		}
		if seen, err := core.Describe(t.ctx, t.Scheduler, j.Key, nil, core.Peer{}); err != nil || seen.Run != j.Run {
			t.Errorf("Describe of a job of which no hook has spoken: %+v, %v; want %+v", seen.Run, err, j.Run)
		}
		if j.Generation > 0 { // of an earlier run, as a late hook would claim
			claim := j.Key
			claim.Generation--
			job, err := core.Describe(t.ctx, t.Scheduler, claim, j.Note, j.From)
			if err == nil && !job.Gone && job.Generation == claim.Generation {
				t.Errorf("Describe tells run %d as alive because it was asked for; the scheduler has run %d", claim.Generation, j.Generation)
			}
		}
	}},
	{"Watch tells that it asks, then the complete answer", "S3", OfScheduler, func(t *T) {
		all, err := t.watch()
		if len(all) == 0 {
			t.here("Watch", err)
			t.Fatalf("Watch told nothing: %v", err)
		}
		if first := all[0]; !first.Asking || first.Complete || len(first.Jobs) > 0 {
			t.Errorf("Watch told first: asking %v, complete %v, %d jobs; an answer that was not announced may be older than a prepare", first.Asking, first.Complete, len(first.Jobs))
		}
		asked := false
		for _, told := range all {
			switch {
			case told.Asking && (told.Complete || len(told.Jobs) > 0):
				t.Errorf("Watch told at once that it asks and %d jobs", len(told.Jobs))
			case told.Complete && !asked:
				t.Errorf("Watch told a complete answer without asking before")
			}
			asked = told.Asking || asked && !told.Complete
			t.statuses(told)
		}
		last := all[len(all)-1]
		if last.Blind != "" {
			t.Fatalf("Watch cannot see every job: %s", last.Blind)
		}
		if !last.Complete {
			t.Skipf("its scheduler gave no complete answer here within the case's time")
		}
		if j := t.Site.Job; j != nil {
			found := false
			for _, s := range last.Jobs {
				found = found || s.Run == j.Run && s.State == core.JobRunning
			}
			if !found {
				t.Errorf("the complete answer lacks job %s as running: it would be taken for gone", j.Key)
			}
		}
	}},
	{"Watch ends with the error that it is told", "S3", OfScheduler, func(t *T) {
		enough := errors.New("weft-verify: enough")
		done := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.ctx)
		defer cancel()
		go t.watching(ctx, done, func(core.Jobs) error { return enough })
		t.endsWatch(done, "tell failed")
	}},
	{"Watch ends when nobody listens any more", "S3", OfScheduler, func(t *T) {
		done := make(chan error, 1)
		heard := make(chan struct{}, 1)
		ctx, cancel := context.WithCancel(t.ctx)
		defer cancel()
		go t.watching(ctx, done, func(core.Jobs) error {
			select {
			case heard <- struct{}{}:
			default:
			}
			return nil
		})
		select {
		case <-heard:
		case err := <-done:
			done <- err
		case <-t.ctx.Done():
		}
		cancel()
		t.endsWatch(done, "its context ended")
	}},
	{"what its scheduler cannot do is told as unsupported, and what does not exist as such", "S4", OfScheduler, func(t *T) {
		for _, verb := range core.SchedulerVerbs() {
			if verb == core.CallDescribe || !t.Scheduler.Has(verb) {
				continue
			}
			what, call := string(verb)+" of what does not exist", core.SchedulerCall{
				Scheduler: noJob.Scheduler, Verb: verb, Key: noJob, Node: noNode, Reason: "weft plugin verify", Grant: &core.Grant{Run: core.Run{Key: noJob}},
			}
			var first error
			for n := range 2 {
				err := guarded(what, func() error { return t.call(call) })
				if err != nil {
					t.code(what, err, core.Unsupported, core.NotFound, core.Unavailable, core.Timeout, core.Denied, core.Invalid, core.Conflict)
				}
				if n == 1 && core.AsError(err) != nil != (core.AsError(first) != nil) {
					t.Errorf("%s: first %v, then %v", what, first, err)
				}
				first = err
			}
		}
	}},
	{"Fail of a job that is over already is no error", "S6", OfScheduler, func(t *T) {
		j := t.job()
		if !j.Doomed {
			t.Skipf("no job may be ended here")
		}
		fail := core.SchedulerCall{Scheduler: j.Scheduler, Verb: core.CallFail, Key: j.Key, Reason: "weft: verified"}
		err := t.call(fail)
		t.unsupported("Fail", err)
		t.must(err, "Fail")
		for n := range 2 {
			t.should(t.call(fail), "Fail of a job that it ended, time %d", n+2)
		}
		requeue := fail
		requeue.Verb = core.CallRequeue
		if err := t.call(requeue); err != nil && core.AsError(err).Code != core.Unsupported {
			t.Errorf("Requeue of a job that is over: %v", err)
		}
	}},
}

// call makes a call that has no answer but its error.
func (t *T) call(c core.SchedulerCall) error {
	_, err := t.Scheduler.Call(t.ctx, c)
	return err
}

// note is one that Parse leaves, so that Describe does not refuse a job for its note.
func (t *T) note() []byte {
	if t.Hooks == nil {
		return nil
	}
	for _, c := range t.phaseCalls() {
		if got := t.parse(t.Hooks, c); got.err == nil && len(got.ask.Note) > 0 {
			return got.ask.Note
		}
	}
	return nil
}

func (t *T) job() Job {
	if t.Site.Job == nil {
		t.Skipf("no job of its scheduler is known here: only a test gives one (Site.Job)")
	}
	return *t.Site.Job
}

// watching runs Watch beside the case.
func (t *T) watching(ctx context.Context, done chan<- error, tell func(core.Jobs) error) {
	done <- guarded("Watch", func() error { return t.Scheduler.Watch(ctx, tell) })
}

// watch gathers what Watch tells up to its first complete or blind answer, or until half of the case's time is over.
func (t *T) watch() ([]core.Jobs, error) {
	ctx, cancel := context.WithTimeout(t.ctx, t.Site.Patience/2)
	defer cancel()
	enough := errors.New("weft-verify: enough")
	var all []core.Jobs
	err := t.Scheduler.Watch(ctx, func(j core.Jobs) error {
		if all = append(all, j); j.Complete || j.Blind != "" || len(all) > 100 {
			return enough
		}
		return nil
	})
	return all, err
}

// statuses checks what is told of jobs.
func (t *T) statuses(told core.Jobs) {
	seen := map[core.Key]bool{}
	for _, s := range told.Jobs {
		switch {
		case s.State < core.JobQueued || s.State > core.JobFinal:
			t.Errorf("job %s: state %d does not exist", s.Key, s.State)
		case core.CheckJobID(s.Job) != nil:
			t.Errorf("job %q: it is no job's id", s.Job)
		case told.Complete && seen[s.Key]:
			t.Errorf("job %s: it is twice in a complete answer", s.Key)
		}
		seen[s.Key] = true
	}
}

// endsWatch waits for a Watch that must end now.
func (t *T) endsWatch(done <-chan error, why string) {
	timer := time.NewTimer(soon)
	defer timer.Stop()
	select {
	case err := <-done:
		t.unsupported("Watch", err)
		if err == nil {
			t.Errorf("Watch ended without an error, and %s", why)
		}
	case <-timer.C:
		t.Errorf("Watch goes on %s after %s", soon, why)
	}
}
