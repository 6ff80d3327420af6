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

// TestWhatAStepAsksFor: SLURM_NETWORK counts in steps alone. A mistake in it ends the step.
func TestWhatAStepAsksFor(t *testing.T) {
	bulk := core.Request{Classes: core.BulkData}
	for _, c := range []struct {
		step, network, parts string
		want                 core.Request
		says                 string
	}{
		{step: "3"},
		{step: "3", network: "tcs=BULK_DATA", want: bulk},
		{step: "0", network: "tcs=BULK_DATA", want: bulk},
		{step: "", network: "nonsense"},           // TaskProlog of the batch script, which repeats the job's
		{step: "4294967291", network: "nonsense"}, // slurmstepd of the batch script
		{step: "3", network: "nonsense", parts: "2"},
		{step: "3", network: "nonsense", says: `step 3: option "--network=nonsense": there is no such option`},
		{step: "3", network: "?", says: "step 3: --network: it has characters that no option has"},
		{step: "3", network: "res_ptes=70000", says: "step 3: --network=res_ptes: "},
		{step: "3", network: strings.Repeat("tcs=BULK_DATA,", 70), says: "step 3: --network: it has more than"},
	} {
		for _, phase := range []string{PhaseStep, PhaseTaskProlog} {
			env := map[string]string{"SLURM_JOB_ID": "7", "SLURM_JOB_UID": "1000", "SLURM_STEP_ID": c.step}
			env["SLURM_STEP_NUM_NODES"], env["SLURM_NETWORK"], env["SLURM_HET_SIZE"] = "1", c.network, c.parts
			ask, err := New("tioga").Parse(t.Context(), core.HookCall{Scheduler: "tioga", Phase: phase, Env: env})
			switch {
			case c.says == "" && (err != nil || ask.Request.Classes != c.want.Classes):
				t.Errorf("%s %+v: %+v, %v", phase, c, ask, err)
			case c.says == "":
			case core.ReasonOf(err) != core.BadRequest || !strings.Contains(err.Error(), c.says) || ask.Key.Job != "7":
				t.Errorf("%s %+v: %+v, %v", phase, c, ask, err)
			}
		}
	}
	env := map[string]string{"SLURM_JOB_ID": "7", "SLURM_JOB_UID": "1000", "SLURM_STEP_ID": "3", "SLURM_NETWORK": "off"}
	ask, err := New("tioga").Parse(t.Context(), core.HookCall{Scheduler: "tioga", Phase: PhaseStep, Env: env})
	if err != nil || ask.Step != "" || !ask.Request.Off || !ask.Joins {
		t.Errorf("a step without a network draws a VNI: %+v, %v", ask, err)
	}
}
