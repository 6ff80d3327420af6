package slurm

import (
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
)

// TestAStepSaysHowManyNodesItHas: the number is from slurmstepd. Without one the step draws no VNI.
func TestAStepSaysHowManyNodesItHas(t *testing.T) {
	for _, c := range []struct {
		phase, step, nodes string
		action             core.Action
		id                 string
		want               int
	}{
		{PhaseStep, "3", "2", core.Prepare, "3", 2},
		{PhaseStep, "3", "", core.Prepare, "3", 0},
		{PhaseStep, "3", "-1", core.Prepare, "3", 0},
		{PhaseStep, "3", "4294967296", core.Prepare, "3", 0},
		{PhaseStep, "4294967291", "1", core.Prepare, "", 1},
		{PhaseStepEnd, "3", "", core.StepEnd, "3", 0},
		{PhaseStepEnd, "4294967291", "", core.StepEnd, "", 0},
	} {
		env := map[string]string{"SLURM_JOB_ID": "7", "SLURM_JOB_UID": "1000", "SLURM_STEP_ID": c.step}
		env["SLURM_STEP_NUM_NODES"] = c.nodes
		ask, err := New("tioga").Parse(t.Context(), core.HookCall{Scheduler: "tioga", Phase: c.phase, Env: env})
		if err != nil || ask.Action != c.action || ask.Step != c.id || ask.StepNodes != c.want {
			t.Errorf("%+v: %+v, %v", c, ask, err)
		}
	}
}

// TestAStepThatSharesSaysSo: on its first node, whichever step it is.
func TestAStepThatSharesSaysSo(t *testing.T) {
	for node, prints := range map[string]bool{"0": true, "1": false} {
		env := map[string]string{"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "5", "SLURM_NODEID": node}
		o := core.Outcome{Key: key("7", 0), Warnings: []string{"few"}, StepWarnings: []string{"step 5 shares"}}
		r, err := New("tioga").Render(t.Context(), core.HookCall{Phase: PhaseStep, Env: env}, o)
		got := string(r.Stdout)
		shares := strings.Contains(got, "print weft: warning: step 5 shares\n")
		if err != nil || shares != prints || strings.Contains(got, "few") {
			t.Errorf("node %s: %q, %v", node, got, err)
		}
	}
}
