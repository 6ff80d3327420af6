package slurm

import (
	"context"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/command"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/sdk/conformance"
)

// spoken are an adapter's halves without its block: a block would put Slurm's real commands in the fake's place.
type spoken struct {
	core.Hooks
	core.Phased
	core.Scheduler
	core.Requeuer
}

// TestConformance: the suite that every adapter must pass, with a Slurm that knows a job and ends it when it is told to.
func TestConformance(t *testing.T) {
	f := &fake{}
	f.job("7", "RestartCnt", "1")
	f.job("8")
	f.hold = func(_ context.Context, line string) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if line != "scancel 7" {
			return nil
		}
		if f.jobs[0]["State"] == "CANCELLED" {
			return &command.Failure{Command: "scancel", Says: "scancel: error: Kill job error on job id 7: Job/step already completing or completed", Code: 1}
		}
		f.jobs[0]["State"] = "CANCELLED"
		return nil
	}
	env := map[string]string{
		envJob: "7", envUID: "1001", envRestarts: "1", envNodes: "n[1-3]", envCPUs: "5,1(x2)", "SLURM_JOB_NAME": "x", "PATH": "/usr/bin:/bin",
	}
	prolog := core.HookCall{ID: "id", Scheduler: "tioga", Phase: PhaseProlog, Node: "n1", Began: 5, Env: env}
	epilog, task := prolog, prolog
	epilog.Phase, task.Phase, task.Peer = PhaseEpilog, PhaseTaskProlog, core.Peer{UID: 1001, GID: 1001}
	ask, err := f.adapter(t).Parse(t.Context(), prolog)
	if err != nil {
		t.Fatal(err)
	}
	conformance.Test(t, func() any {
		p := f.adapter(t)
		return spoken{p, p, p, p}
	}, conformance.Site{
		Calls: []core.HookCall{prolog, task, epilog},
		Job:   &conformance.Job{Run: core.Run{Key: key("7", 1), Fingerprint: core.Fingerprint{UID: 1001, Submitted: 1795836284}}, Note: ask.Note, Doomed: true},
	})
	if n := strings.Count(strings.Join(f.did(), "\n"), "scancel 7"); n != 1 {
		t.Errorf("the suite's job was ended %d times, want once: what is over is left alone", n)
	}
}
