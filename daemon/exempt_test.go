package daemon

import (
	"context"
	"log/slog"
	"testing"

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
	status := func(job, hosts string, state core.JobState) core.JobStatus {
		return core.JobStatus{Run: core.Run{Key: core.Key{JobID: core.JobID{Scheduler: "tioga", Job: job}}}, State: state, Hosts: hosts}
	}
	tells := map[string]core.Scheduler{
		"tioga": teller{parts: []core.Jobs{{Asking: true}, {Complete: true, Jobs: []core.JobStatus{
			status("1", "n[1-3]", core.JobRunning), status("2", "n[2-3]", core.JobRunning), status("3", "n1", core.JobFinal),
		}}}},
		"mute":   teller{err: core.Errorf(core.SchedulerAway, "it is down")},
		"unable": teller{err: core.Errorf(core.NotSupported, "it has none")},
	}
	run := rundir.Dir(t.TempDir())
	exempt := func(job string) bool { return run.Exempted(core.JobID{Scheduler: "tioga", Job: job}) }
	begin := func(boot string, from map[string]core.Scheduler) {
		t.Helper()
		if err := exemptRunning(t.Context(), run, "n1", boot, slog.New(slog.DiscardHandler), slog.New(slog.DiscardHandler), from); err != nil {
			t.Fatal(err)
		}
	}
	begin("a", tells)
	if !exempt("1") || exempt("2") || exempt("3") {
		t.Fatalf("exempt: 1 %v, 2 %v, 3 %v; it should be job 1, the only one that runs here", exempt("1"), exempt("2"), exempt("3"))
	}
	// A job without a record at a later start may be one that was refused.
	if err := run.Unexempt(core.JobID{Scheduler: "tioga", Job: "1"}); err != nil {
		t.Fatal(err)
	}
	begin("a", tells)
	if exempt("1") {
		t.Fatal("a later start of the same boot exempted a job")
	}
	if err := run.Exempt(core.JobID{Scheduler: "tioga", Job: "9"}); err != nil {
		t.Fatal(err)
	}
	begin("b", nil)
	if exempt("9") {
		t.Fatal("an exemption outlived a reboot")
	}
}
