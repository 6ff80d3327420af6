package job

import (
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/server"
)

// Services that no record explains are of no scheduler.
func TestPrintJob(t *testing.T) {
	for _, test := range []struct {
		row  server.JobRow
		want string
	}{
		{server.JobRow{Scheduler: "tioga", Job: "7", User: "ann", State: "active"}, "job tioga/7, run 0, of ann: active since "},
		{server.JobRow{Job: "unknown:n1:900:102", UID: 900, State: "held", Unknown: true}, "unknown:n1:900:102, not made by Weft: held since "},
	} {
		test.row.VNIs = []core.VNI{102}
		var out strings.Builder
		printJob(&out, server.JobDetail{JobRow: test.row})
		if got := out.String(); !strings.HasPrefix(got, test.want) || strings.Contains(got, "traffic classes") {
			t.Errorf("%q, want %q first and no empty line", got, test.want)
		}
	}
}

// A job that has less than it was granted on some nodes is shown with its limits there, and why. Its part of a shared node
// needs no reason.
func TestPrintJobThatGotLess(t *testing.T) {
	var out strings.Builder
	nics := []server.NICGot{{NICs: "cxi[0-3]", Limits: map[string][2]int{"cts": {1, 2047}}}}
	part := []server.NICGot{{NICs: "cxi0", Limits: map[string][2]int{"cts": {1, 500}}}}
	printJob(&out, server.JobDetail{Shares: []server.Share{{Hosts: "n[1-4]", Limits: nics[0].Limits}}, Got: []server.Got{
		{Nodes: "n4", NICs: part},
		{Nodes: "n[1-2]", NICs: nics, Warnings: []string{"NIC cxi[0-3]: cts: 1 reserved instead of 64: the NIC has no more left"}}, {Nodes: "n3", NICs: nics},
	}})
	want := "  got on n4, NIC cxi0: reserved/max: cts 1/500\n" +
		"  got on n[1-2], NIC cxi[0-3]: reserved/max: cts 1/2047\n" +
		"  warning          n[1-2]: NIC cxi[0-3]: cts: 1 reserved instead of 64: the NIC has no more left\n"
	if got := out.String(); !strings.HasSuffix(got, want) || strings.Contains(got, "n3") {
		t.Errorf("%q, want at its end %q", got, want)
	}
}

// TestPrintVNIs shows the VNIs that a service of nobody holds as ranges, and those of a job one by one.
func TestPrintVNIs(t *testing.T) {
	row := func(v core.VNI, job, waits string) server.VNIRow {
		return server.VNIRow{VNI: v, Pool: "jobs", State: "held", Job: job, Nodes: []string{"n1"}, Unclean: 1, Waits: waits}
	}
	var out strings.Builder
	page := server.FoldVNIs([]server.VNIRow{row(7, "", "a"), row(8, "", "a")})
	PrintVNIs(&out, server.FoldVNIs(append(page,
		row(9, "", "a"), row(9, "", "b"), row(10, "", "b"), row(12, "", "b"), row(13, "s/1", "b"), row(14, "s/1", "b"),
	)))
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.Fields(line)[0])
	}
	if want := "VNI 7-9 9-10 12 13 14"; strings.Join(got, " ") != want {
		t.Errorf("%s, want %s", out.String(), want)
	}
}
