package slurm

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
)

// TestToldByARealSlurm: the facts of jobs as a real squeue shows them.
func TestToldByARealSlurm(t *testing.T) {
	text, err := os.ReadFile("testdata/told.txt")
	if err != nil {
		t.Fatal(err)
	}
	told := func(qos, reservation string, limit int64, constraints string) core.Told {
		return core.Told{QOS: &qos, Reservation: &reservation, TimeLimit: &limit, Constraints: &constraints}
	}
	want := map[string]core.Told{
		"1": told("normal", "", core.Unlimited, ""),
		"2": told("debug", "", 93840, "gpu&nvme"), // Slurm counts in minutes, rounded up
		"3": told("normal", "maint", 1800, ""),
		"4": told("normal", "other,maint", 1800, ""),
		"5": {QOS: new("normal"), Reservation: new(""), Constraints: new("")}, // 400 days
		"6": told("normal", "", 365*86400, ""),
		// sbatch took the limit for one minute, and slurmctld ends the job after one.
		"7":  told("normal", "", 60, ""),
		"8":  told("normal", "", core.Unlimited, "nvme&gpu"),
		"9":  told("normal", "", core.Unlimited, "gpu|big"),
		"10": told("normal", "", core.Unlimited, "[gpu|nvme]"),
		"18": told("", "", core.Unlimited, ""),
		"21": told("normal", "", 7200, ""),
		"22": told("debug", "", 600, ""), // the first component's, for both
		"26": told("", "", core.Unlimited, ""),
	}
	columns := table{
		{colJob, 6}, {colTask, 6}, {colLeader, 6}, {colState, 12}, {colQOS, 10}, {colReserved, 14},
		{colLimit, 16}, {colFeatures, 24},
	}
	f := &fake{}
	for _, line := range strings.Split(string(text), "\n") {
		if line == "" || line[0] == '#' || line[0] == '=' {
			continue
		}
		line += strings.Repeat(" ", columns.length()-1-len(line)) + "\n"
		var job []string
		for at, i := 0, 0; i < len(columns); i++ {
			job = append(job, columns[i].name, strings.TrimRight(line[at:at+columns[i].width], " "))
			at += columns[i].width
		}
		f.job(job[1], job...)
	}
	p := f.adapter(t)
	for id, want := range want {
		got, err := p.Describe(t.Context(), key(id, 0), noteOf(t, note{Job: id}), root)
		if diff := cmp.Diff(want, got.Told); diff != "" || err != nil {
			t.Errorf("job %s: %v %s", id, err, diff)
		}
	}
}
