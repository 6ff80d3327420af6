package pbs_test

import (
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/pbs"
	"github.com/weft-hpc/weft/plugins/pbs/pbstest"
	"github.com/weft-hpc/weft/sdk/conformance"
)

// TestConformance: the suite that every adapter must pass, with a complex that runs a job, deletes it, and knows it as finished from then on.
func TestConformance(t *testing.T) {
	c := pbstest.New(3)
	j := c.Submit(pbstest.Job{Hosts: 2, Cores: 4})
	c.Submit(pbstest.Job{})
	c.Schedule()
	ask := asked(t, j, 1)
	var calls []core.HookCall
	for _, phase := range []string{pbs.PhaseBegin, pbs.PhaseLaunch, pbs.PhaseEnd, pbs.PhaseAbort} {
		calls = append(calls, core.HookCall{
			ID: "id", Scheduler: "tioga", Phase: phase, Node: "n1", Began: 5, Env: map[string]string{"PBS_JOBID": j.ID},
			Stdin: []byte(`{"v":1,"job":"` + j.ID + `","user":"tester","uid":1001,"run_count":1}`),
		})
	}
	conformance.Test(t, func() any { return pbs.NewWith("tioga", c.Command) }, conformance.Site{
		Calls: calls,
		Job:   &conformance.Job{Run: core.Run{Key: key(j.ID, 1), Fingerprint: core.Fingerprint{UID: 1001, Submitted: j.Submitted}}, Note: ask.Note, Doomed: true},
	})
	if got := c.Job(j.ID); got == nil || got.State != "F" {
		t.Errorf("the suite's job was to be ended: %+v", got)
	}
}
