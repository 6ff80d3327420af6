package slurm

import (
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
)

// TestAStepSaysHowManyNodesItHas: the number is from slurmstepd. Without one the step draws no VNI.
func TestAStepSaysHowManyNodesItHas(t *testing.T) {
	for _, c := range []struct {
		step, nodes, id string
		want            int
	}{
		{"3", "2", "3", 2},
		{"3", "", "3", 0},
		{"3", "-1", "3", 0},
		{"3", "4294967296", "3", 0},
		{"4294967291", "1", "", 1},
	} {
		env := map[string]string{"SLURM_JOB_ID": "7", "SLURM_JOB_UID": "1000", "SLURM_STEP_ID": c.step}
		env["SLURM_STEP_NUM_NODES"] = c.nodes
		ask, err := New("tioga").Parse(t.Context(), core.HookCall{Scheduler: "tioga", Phase: PhaseStep, Env: env})
		if err != nil || ask.Step != c.id || ask.StepNodes != c.want {
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
