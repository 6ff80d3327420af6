package cli

import "testing"

// TestJobName gives the server a job of Flux as `flux jobs` shows it, in whichever spelling its user has it.
func TestJobName(t *testing.T) {
	for text, want := range map[string]string{
		"f9y6M3wD": "ƒ9y6M3wD", "341366013952": "ƒ9y6M3wD", "tioga/0x4f7b000000": "tioga/ƒ9y6M3wD",
		"tioga/job.0000.004f.7b00.0000":               "tioga/ƒ9y6M3wD",
		"grand-chapter-water--boston-academy-academy": "ƒ9y6M3wD",
		"77": "77", "slurm/77_3": "slurm/77_3", "123.pbs1": "123.pbs1", "local/n1.5": "local/n1.5",
	} {
		if got, err := JobName(text); err != nil || got != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "a b/77", "77\n"} {
		if got, err := JobName(text); err == nil {
			t.Errorf("%q: %q is taken", text, got)
		}
	}
}
