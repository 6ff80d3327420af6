package rundir

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
)

func TestFirstStartOfABoot(t *testing.T) {
	d := dir(t)
	first := func(boot string, now int64, want bool) Start {
		t.Helper()
		s, got, err := d.FirstStart(boot, now)
		if got != want || err != nil {
			t.Errorf("%s: first start: %v, %v", boot, got, err)
		}
		return s
	}
	must(t, d.Exempt(job)) // it went by before there was an agent
	s := first("b1", 10, true)
	must(t, d.NoteTold(&s, "tioga"))
	must(t, d.NoteTold(&s, "tioga"))
	if got := first("b1", 20, true); got.Since != 10 || !slices.Equal(got.Told, []string{"tioga"}) { // killed before all had told
		t.Errorf("after a restart: %+v", got)
	}
	must(t, d.NoteStart("b1"))
	first("b1", 30, false)
	if !d.Exempted(job) {
		t.Error("an exemption of this boot is gone")
	}
	if got := first("b2", 5, true); got.Since != 5 || len(got.Told) > 0 || d.Exempted(job) {
		t.Errorf("the next boot begins with %+v; exempt: %v", got, d.Exempted(job))
	}
	must(t, d.Exempt(job))
	first("b2", 6, true)
	if !d.Exempted(job) {
		t.Error("a restart lost what was exempt in this boot")
	}
	first("b3", 7, true) // nobody had told all in b2
	if d.Exempted(job) {
		t.Error("an exemption of the boot before stands")
	}
	must(t, os.WriteFile(d.path(startName), []byte("{"), 0o644))
	if got := first("b3", 8, true); got.Since != 8 {
		t.Errorf("a file that cannot be read: %+v", got)
	}
}

func TestExemptRuns(t *testing.T) {
	d := dir(t)
	run := core.Run{Key: core.Key{JobID: job, Generation: 3}, Fingerprint: core.Fingerprint{UID: 7, Submitted: 1795836284}}
	if _, ok := d.ExemptedRun(job); ok {
		t.Error("a job that nobody exempted")
	}
	must(t, d.ExemptRun(run))
	got, ok := d.ExemptedRun(job)
	if diff := cmp.Diff(run, got); diff != "" || !ok || !d.Exempted(job) {
		t.Errorf("%v %s", ok, diff)
	}
	must(t, d.Exempt(job)) // it went by meanwhile
	if got, ok := d.ExemptedRun(job); ok || !d.Exempted(job) {
		t.Errorf("an empty file names the run %v; exempt: %v", got, d.Exempted(job))
	}
	path := filepath.Join(string(d), exempts, job.Scheduler, job.Job)
	for _, text := range []string{"{", `{"generation":-1}`, string(make([]byte, maxExempt+1))} {
		must(t, os.WriteFile(path, []byte(text), 0o644))
		if got, ok := d.ExemptedRun(job); ok {
			t.Errorf("%.20q names the run %v", text, got)
		}
	}
	must(t, d.ExemptRun(run))
	must(t, os.Chmod(path, 0o666))
	if _, ok := d.ExemptedRun(job); ok {
		t.Error("a file that anybody can write is believed")
	}
	must(t, d.Unexempt(job))
	if d.Exempted(job) {
		t.Error("it is still exempt")
	}
}
