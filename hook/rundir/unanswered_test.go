package rundir

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
)

func TestUnanswered(t *testing.T) {
	d := dir(t)
	if all, err := d.Unanswered(); len(all) != 0 || err != nil {
		t.Errorf("at first: %+v, %v", all, err)
	}
	for _, n := range []struct {
		after     time.Duration
		scheduler string
	}{
		{0, "tioga"}, {time.Second, "flux"}, {4 * time.Minute, "tioga"}, {8 * time.Minute, "tioga"},
		{20 * time.Minute, "tioga"},
	} {
		why := "prolog of job 7\nin " + n.after.String() + strings.Repeat("…", 100)
		must(t, d.NoteUnanswered(now.Add(n.after), n.scheduler, why))
	}
	all, err := d.Unanswered()
	must(t, err)
	at, long := now.Unix(), strings.Repeat("…", 100)
	want := []core.Unanswered{
		{Scheduler: "tioga", Why: core.Cut("prolog of job 7\nin 0s"+long, maxWhy), From: at, Until: at + 8*60},
		{Scheduler: "flux", Why: core.Cut("prolog of job 7\nin 1s"+long, maxWhy), From: at + 1, Until: at + 1},
		{Scheduler: "tioga", Why: core.Cut("prolog of job 7\nin 20m0s"+long, maxWhy), From: at + 20*60, Until: at + 20*60},
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
	for i := range core.MaxUnanswered {
		must(t, d.NoteUnanswered(now.Add(time.Duration(i+1)*time.Hour), "tioga", "x"))
	}
	if all, err := d.Unanswered(); len(all) != core.MaxUnanswered || all[0].From != at+3600 || err != nil {
		t.Errorf("%d absences, from %+v on: %v", len(all), all[0], err)
	}
}

func FuzzUnanswered(f *testing.F) {
	f.Add([]byte(`{"time":1,"scheduler":"a","why":"x"}` + "\n" + `{"time":2,"scheduler":"a"}` + "\n{"))
	f.Add([]byte(`{"time":9223372036854775807,"scheduler":"a"}` + "\n" + `{"time":1,"scheduler":"a"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		all := parseUnanswered(text)
		if len(all) > core.MaxUnanswered {
			t.Errorf("%d absences", len(all))
		}
		for _, u := range all {
			if u.From <= 0 || u.Until < u.From || len(u.Why) > maxWhy || u.Scheduler == "" {
				t.Errorf("%+v", u)
			}
		}
	})
}
