package cxi_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/cxi"
	"github.com/weft-hpc/weft/drivers/cxi/testdata/shim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
	"github.com/weft-hpc/weft/drivers/sim/kernel/kerneltest"
)

// TestReport: a NIC of each release answers as expected.txt says, and keeps no service of the trials. The model that
// makes the file is tested against the sources by package kerneltest.
func TestReport(t *testing.T) {
	answers := map[string][]string{}
	var order, told []string
	for i, b := range kerneltest.Drivers {
		d, n := on(t, b, 1, shim.LibraryOf(b))
		r, err := d.Report(t.Context(), "cxi0", 32, false)
		if err != nil || len(r.Left) > 0 {
			t.Fatalf("SHS %s: %v, left %v", b.Release, err, r.Left)
		}
		n.Do(0, func(k *kernel.NIC) {
			if len(k.Services()) != 3 || len(k.LNIs()) != 2 {
				t.Errorf("SHS %s: %d services and %d LNIs are left", b.Release, len(k.Services())-3, len(k.LNIs())-2)
			}
		})
		release := b.Release
		if b == &kernel.Main {
			release = "newer than 14.0.1"
		}
		first, _, _ := strings.Cut(r.Release, " ")
		told = append(told, first)
		if r.Release != release || r.Format != cxi.ReportFormat || len(r.State) != 1 || len(r.System) != 3 {
			t.Errorf("SHS %s: %+v", b.Release, r)
		}
		for _, row := range r.Rows {
			if i == 0 {
				order = append(order, row.Rule)
			}
			answers[row.Rule] = append(answers[row.Rule], row.Seen)
			if !*update && !row.Agrees {
				t.Errorf("SHS %s: %s: %s, expected %q", b.Release, row.Rule, row.Seen, row.Expected)
			}
		}
	}
	file := "rule\t" + strings.Join(told, "\t")
	for _, rule := range order {
		file += "\n" + rule + "\t" + strings.Join(answers[rule], "\t")
	}
	if *update {
		if err := os.WriteFile("expected.txt", []byte(file+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("expected.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), file+"\n"); diff != "" {
		t.Errorf("write expected.txt again with -update: -file +answers\n%s", diff)
	}
}

// TestReportShowsADifference: the row says that a NIC answers otherwise than the sources of its release.
func TestReportShowsADifference(t *testing.T) {
	d, n := on(t, &kernel.R1401, 1, shim.Lib10)
	n.Set(func(s *shim.State) {
		s.Refuse(func(op string) kernel.Errno {
			if op == "set lpr" {
				return kernel.EIO
			}
			return kernel.OK
		})
	})
	r, err := d.Report(t.Context(), "cxi0", 32, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Rows {
		if sets := strings.HasPrefix(row.Rule, "lpr: ") && row.Seen == "EIO"; row.Agrees == sets {
			t.Errorf("%+v", row)
		}
	}
}

// TestReportLeavesJobsAlone: a NIC with a job's service, or with a VNI that the report would use, is left alone.
func TestReportLeavesJobsAlone(t *testing.T) {
	d, n := on(t, &kernel.R1401, 2, shim.Lib10)
	job := must(t, d, spec("cxi0", 1000, 4034))
	if _, err := d.Report(t.Context(), "cxi0", 32, false); core.AsError(err).Reason != core.NICConflict {
		t.Errorf("with a job: %v", err)
	}
	for _, shared := range []bool{true, false} {
		_, err := d.Report(t.Context(), "cxi0", 4032, shared)
		if e := core.AsError(err); e.Reason != core.NICConflict || !strings.Contains(e.What, "has VNI 4034") ||
			!strings.HasPrefix(e.Remedy, "`cxi_service delete -d cxi0 -s 4` removes it if it is left from a report") {
			t.Errorf("with a job's VNI: %v; %s", err, core.AsError(err).Remedy)
		}
	}
	if _, err := d.Report(t.Context(), "cxi7", 32, false); core.AsError(err).Reason != core.NICMissing {
		t.Errorf("without the NIC: %v", err)
	}
	r, err := d.Report(t.Context(), "cxi0", 32, true)
	if err != nil || len(r.Left) > 0 {
		t.Errorf("%v, left %v", err, r.Left)
	}
	for _, row := range r.Rows {
		if strings.HasPrefix(row.Rule, "pools: ") || !row.Agrees {
			t.Errorf("next to a job: %+v", row)
		}
	}
	n.Do(0, func(k *kernel.NIC) {
		if s, err := k.Get(job.ID); err != kernel.OK || len(k.Services()) != 4 {
			t.Errorf("the job's service: %+v, %v; %d services", s, err, len(k.Services()))
		}
	})
}

// TestReportThatIsEnded removes its services before it returns.
func TestReportThatIsEnded(t *testing.T) {
	d, n := on(t, &kernel.R1401, 1, shim.Lib10)
	ctx, end := context.WithCancel(t.Context())
	allocs := 0
	n.Set(func(s *shim.State) {
		s.Tamper(func(op string, _ []byte) {
			if op == "alloc" {
				if allocs++; allocs == 5 {
					end()
				}
			}
		})
	})
	if _, err := d.Report(ctx, "cxi0", 32, false); core.AsError(err).Reason != core.Cancelled || allocs > 6 {
		t.Errorf("%v after %d allocs", err, allocs)
	}
	n.Do(0, func(k *kernel.NIC) {
		if len(k.Services()) != 3 {
			t.Errorf("%d services are left", len(k.Services())-3)
		}
	})
}

// TestReportSaysWhatItLeft: a service that cannot be removed is named.
func TestReportSaysWhatItLeft(t *testing.T) {
	d, n := on(t, &kernel.R1401, 1, shim.Lib10)
	n.Set(func(s *shim.State) {
		s.Refuse(func(op string) kernel.Errno {
			if op == "destroy" {
				return kernel.EIO
			}
			return kernel.OK
		})
	})
	r, err := d.Report(t.Context(), "cxi0", 32, false)
	if err != nil || len(r.Left) == 0 || r.Left[0].Why != "EIO" || r.Left[0].Service < 4 {
		t.Errorf("%v, left %v", err, r.Left)
	}
}
