package rundir

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
)

var now = time.Date(2026, 11, 27, 3, 0, 0, 0, time.UTC)

func TestBypass(t *testing.T) {
	d := dir(t)
	check := func(at time.Time, want bool) {
		t.Helper()
		if _, on, err := d.Bypass(at); on != want || err != nil {
			t.Errorf("bypassed: %v, %v, want %v", on, err, want)
		}
	}
	check(now, false)
	must(t, d.WriteBypass(now.Add(time.Hour), now))
	check(now, true)
	check(now.Add(time.Hour-time.Nanosecond), true)
	check(now.Add(time.Hour), false)
	must(t, d.WriteBypass(now.Add(MaxBypass), now)) // again, further
	check(now.Add(24*time.Hour), true)
	for range 2 {
		must(t, d.ClearBypass())
		check(now, false)
	}
	for _, until := range []time.Time{now, now.Add(-time.Hour), now.Add(MaxBypass + time.Second), {}} {
		if err := d.WriteBypass(until, now); err == nil {
			t.Errorf("until %s was taken", until)
		}
		check(now, false)
	}
}

func TestBypassesThatNobodyObeys(t *testing.T) {
	for name, bad := range spoil {
		t.Run(name, func(t *testing.T) {
			d := dir(t)
			must(t, d.WriteBypass(now.Add(time.Hour), now))
			bad(t, d, d.path(bypassName))
			if _, on, err := d.Bypass(now); on || core.AsError(err) == nil || core.AsError(err).Reason != core.NotAllowed {
				t.Errorf("bypassed: %v, %v", on, err)
			}
		})
	}
	for _, text := range []string{"", "tomorrow", "2026-12-05T03:00:00Z", "9999-12-31T23:59:59Z"} {
		d := dir(t)
		must(t, os.WriteFile(d.path(bypassName), []byte(text), 0o600))
		if _, on, err := d.Bypass(now); on || err == nil {
			t.Errorf("%q: bypassed: %v, %v", text, on, err)
		}
	}
}

func TestUsageIsCountedAndBounded(t *testing.T) {
	d := dir(t)
	const each, by = 40, 4
	var group sync.WaitGroup
	for i := range by {
		group.Go(func() {
			for range each {
				if err := d.NoteBypass(now, fmt.Sprintf("tioga prolog job %d:\nwent by", i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if n, err := d.BypassCount(); n != each*by || err != nil {
		t.Errorf("%d are counted, %v", n, err)
	}
	text, err := os.ReadFile(d.path(logName))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != each*by {
		t.Errorf("%d lines", len(lines))
	}
	for _, line := range lines {
		if !strings.HasPrefix(line, "2026-11-27T03:00:00Z tioga prolog job ") || !strings.HasSuffix(line, ": went by") {
			t.Fatalf("the line %q", line)
		}
	}
	must(t, os.Truncate(d.path(logName), MaxLog-10))
	must(t, d.NoteBypass(now, strings.Repeat("é", 5000)))
	for name, most := range map[string]int64{logName: maxLine, logName + ".1": MaxLog} {
		info, err := os.Stat(d.path(name))
		if err != nil || info.Size() > most || info.Size() == 0 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n, err := d.BypassCount(); n != each*by+1 || err != nil {
		t.Errorf("%d are counted, %v", n, err)
	}
}

func TestALogInWhoseSteadALinkLies(t *testing.T) {
	for _, name := range []string{logName, countName} {
		d := dir(t)
		prey := d.path("prey")
		must(t, os.WriteFile(prey, []byte("whole"), 0o600))
		must(t, os.Symlink(prey, d.path(name)))
		if err := d.NoteBypass(now, "x"); err == nil {
			t.Errorf("%s: it was written through a link", name)
		}
		if text, err := os.ReadFile(prey); string(text) != "whole" || err != nil {
			t.Errorf("%s: the prey holds %q, %v", name, text, err)
		}
	}
}

func TestExempt(t *testing.T) {
	d := dir(t)
	if d.Exempted(job) {
		t.Error("a job is exempt of which nobody said so")
	}
	for range 2 {
		must(t, d.Exempt(job))
		if !d.Exempted(job) || d.Exempted(core.JobID{Scheduler: "tioga", Job: "8"}) {
			t.Error("the wrong job is exempt")
		}
	}
	for range 2 {
		must(t, d.Unexempt(job))
		if d.Exempted(job) {
			t.Error("it is still exempt")
		}
	}
	for name, bad := range spoil {
		if name == "too long" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			d := dir(t)
			must(t, d.Exempt(job))
			bad(t, d, d.path(exempts, job.Scheduler, job.Job))
			if d.Exempted(job) {
				t.Error("it is exempt")
			}
		})
	}
}

func TestSocket(t *testing.T) {
	d := dir(t)
	if d.Socket(true) != d.RootSocket() || d.Socket(false) != d.UsersSocket() {
		t.Error("without any socket the error would name the wrong one")
	}
	must(t, os.WriteFile(d.DevSocket(), nil, 0o600))
	if d.Socket(true) != d.DevSocket() || d.Socket(false) != d.DevSocket() {
		t.Error("a simulated node's socket is not used")
	}
	must(t, os.WriteFile(d.RootSocket(), nil, 0o600))
	must(t, os.WriteFile(d.UsersSocket(), nil, 0o600))
	if d.Socket(true) != d.RootSocket() || d.Socket(false) != d.UsersSocket() {
		t.Error("an agent's sockets are not used")
	}
}
