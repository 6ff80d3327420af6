package slurm

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
)

const sacctHead = "JobID|User|UID|Account|Partition|NodeList|AllocCPUS|Start|End|State\n"

func TestSacct(t *testing.T) {
	got, err := Sacct(strings.NewReader(sacctHead+
		"7|ann|1001|phys|io|n[1-2]|16|2026-01-01T12:00:00|2026-01-01T13:00:00|COMPLETED\n"+
		"7.batch|||phys||n1|8|2026-01-01T12:00:00|2026-01-01T13:00:00|COMPLETED\n"+
		"8_3|bob|1002|chem|io|n3|4|2026-01-01T12:30:00|Unknown|RUNNING\n"+
		"9|bob|1002|chem|io|None assigned|0|Unknown|Unknown|PENDING\n"), "tioga", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	job := func(id, user string, uid uint32, account, hosts string, nodes, cores int) core.Job {
		j := core.Job{User: user, Account: account, Queue: "io", Placements: []core.Placement{{Hosts: hosts, Nodes: nodes, Cores: cores}}}
		j.Scheduler, j.Job, j.UID = "tioga", id, uid
		return j
	}
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	want := []Accounted{
		{job("7", "ann", 1001, "phys", "n[1-2]", 2, 8), noon, noon.Add(time.Hour)},
		{Job: job("8_3", "bob", 1002, "chem", "n3", 1, 4), Start: noon.Add(30 * time.Minute)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for text, say := range map[string]string{
		"":                         "there is no line",
		"JobID|User\n1|x":          "there is no column",
		strings.Repeat("x", 2<<20): "a line has more than 1048576 bytes",
		sacctHead + "7|x":          "line 2: it has 2 columns",
		sacctHead + "7|a|1|p|q|n1|x|2026-01-01T12:00:00|Unknown|R": "AllocCPUS",
		sacctHead + "7|a|1|p|q|n1|1|noon|Unknown|R":                "Start",
		sacctHead + "7|a|1|p|q|n[1|1|2026-01-01T12:00:00|noon|R":   "End",
	} {
		if _, err := Sacct(strings.NewReader(text), "tioga", time.UTC); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%q: %v, want %q", text, err, say)
		}
	}
}

// Columns that are left out are unknown; Constraints is the last, and may hold what parts columns.
func TestSacctTold(t *testing.T) {
	const line = "7|ann|1001|phys|io|n1|1|2026-01-01T12:00:00|Unknown|"
	head := strings.ReplaceAll(SacctFields+","+SacctMore, ",", "|") + "\n"
	for cells, want := range map[string]core.Told{
		"debug|maint|90|gpu|nvme": {
			QOS: new("debug"), Reservation: new("maint"), TimeLimit: new(int64(5400)), Constraints: new("gpu|nvme"),
		},
		"normal||UNLIMITED|": {
			QOS: new("normal"), Reservation: new(""), TimeLimit: new(core.Unlimited), Constraints: new(""),
		},
		"||Partition_Limit|" + strings.Repeat("x", 300): {QOS: new(""), Reservation: new("")},
	} {
		got, err := Sacct(strings.NewReader(head+line+cells+"\n"), "tioga", time.UTC)
		if err != nil || len(got) != 1 {
			t.Fatal(cells, got, err)
		}
		if diff := cmp.Diff(want, got[0].Job.Told); diff != "" {
			t.Error(cells, diff)
		}
	}
}

func FuzzSacct(f *testing.F) {
	f.Add(sacctHead + "7|ann|1001|phys|io|n[1-2]|16|2026-01-01T12:00:00|2026-01-01T13:00:00|COMPLETED\n")
	f.Fuzz(func(t *testing.T, text string) {
		jobs, err := Sacct(strings.NewReader(text), "s", time.UTC)
		if err != nil && jobs != nil {
			t.Error("jobs beside an error")
		}
		for _, j := range jobs {
			if j.Job.Nodes() < 1 || j.Job.Placements[0].Cores < 1 {
				t.Errorf("%+v", j)
			}
		}
	})
}
