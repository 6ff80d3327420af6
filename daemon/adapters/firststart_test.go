package adapters

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook/rundir"
)

// teller is a scheduler that tells once, in parts.
type teller struct {
	core.Scheduler
	parts []core.Jobs
	err   error
}

func (s teller) Watch(ctx context.Context, tell func(core.Jobs) error) error {
	for _, p := range s.parts {
		if err := tell(p); err != nil {
			return err
		}
	}
	if s.err != nil {
		return s.err
	}
	<-ctx.Done()
	return ctx.Err()
}

func TestExemptRunning(t *testing.T) {
	now := time.Now().Unix()
	status := func(job, hosts string, state core.JobState, started int64) core.JobStatus {
		return core.JobStatus{Run: core.Run{Key: core.Key{JobID: core.JobID{Scheduler: "tioga", Job: job}, Generation: 2}}, State: state, Hosts: hosts, Started: started}
	}
	tells := map[string]core.SchedulerClient{
		"tioga": core.Dispatcher{Of: teller{parts: []core.Jobs{{Asking: true}, {Complete: true, Jobs: []core.JobStatus{
			status("1", "n[1-3]", core.JobRunning, now-5), status("2", "n[2-3]", core.JobRunning, now-5), status("3", "n1", core.JobFinal, now-5),
			status("4", "n1", core.JobRunning, 0), status("5", "n1", core.JobRunning, now+60), status("6", "n1", core.JobRunning, 1),
			status("7", "n1", core.JobRunning, now-60), status("8", "n1", core.JobRunning, now),
		}}}}},
		"mute":   core.Dispatcher{Of: teller{err: core.Errorf(core.SchedulerAway, "it is down")}},
		"unable": core.Dispatcher{Of: teller{err: core.Errorf(core.NotSupported, "it has none")}},
		"own":    core.Dispatcher{Of: teller{err: core.Errorf(core.SchedulerAway, "it is down")}},
	}
	run := rundir.Dir(t.TempDir())
	of := func(job string) core.JobID { return core.JobID{Scheduler: "tioga", Job: job} }
	begin := func(boot string, a *Node) []string {
		t.Helper()
		quiet := slog.New(slog.DiscardHandler)
		first, err := a.ExemptRunning(t.Context(), run, boot, quiet, quiet)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			return nil
		}
		return first.Untold
	}
	hooks := map[string]core.Hooks{"elsewhere": nil, "mute": nil, "own": nil, "tioga": nil, "unable": nil}
	here := &Node{node: "n1", Schedulers: tells, Hooks: hooks, Own: []string{"own"}}
	for _, again := range []bool{false, true} {
		if diff := cmp.Diff([]string{"elsewhere", "mute"}, begin("a", here)); diff != "" {
			t.Fatalf("who has still to tell: %s", diff)
		}
		// It runs here since before the agent and after the boot; where a scheduler does not say since when, or that was just now, a prepare is not passed over.
		for job, want := range map[string][2]bool{"1": {!again, false}, "7": {true, true}, "8": {}, "2": {}, "3": {}, "4": {true, false}, "5": {}, "6": {}} {
			got, exact := run.ExemptedRun(of(job))
			if exempt := run.Exempted(of(job)); exempt != want[0] || exact != want[1] || exact && got.Generation != 2 {
				t.Errorf("again %v: job %s: exempt %v, as the run %v %v", again, job, exempt, exact, got)
			}
		}
		// A job without a record at a later start may be one that was refused.
		if err := run.Unexempt(of("1")); err != nil {
			t.Fatal(err)
		}
	}
	if got := begin("a", &Node{node: "n1", Schedulers: tells, Hooks: map[string]core.Hooks{"tioga": nil}}); got != nil {
		t.Errorf("who has still to tell: %v", got)
	}
	if _, first, err := run.FirstStart("a", 1); first || err != nil {
		t.Errorf("all have told, and the start is not noted: %v", err)
	}
	if begin("b", &Node{node: "n1"}); run.Exempted(of("4")) {
		t.Fatal("an exemption outlived a reboot")
	}
}
