package scheduler_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/scheduler"
)

func TestClock(t *testing.T) {
	for text, want := range map[string]int64{
		"0:00": 0, "30:00": 1800, "1:00:00": 3600, "1-02:03:04": 93784, "26:30:00": 95400, "365-00:00:00": 31536000,
		"": -1, "30": -1, "-1:00": -1, "1-": -1, "1-2-3:00": -1, "1:2:3:4": -1, "UNLIMITED": -1, "+1:00": -1,
		"2147483648-0:00:00": -1,
	} {
		if n, ok := scheduler.Clock(text); ok != (want >= 0) || ok && n != want {
			t.Errorf("%q: %d, %t, not %d", text, n, ok, want)
		}
	}
}

func TestPlacements(t *testing.T) {
	got := scheduler.Placements(map[string]int{"n10": 4, "n9": 4, "gpu1": 0, "big": 64})
	want := []core.Placement{
		{Hosts: "big", Nodes: 1, Cores: 64}, {Hosts: "n[9-10]", Nodes: 2, Cores: 4}, {Hosts: "gpu1", Nodes: 1, Cores: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEnvironment(t *testing.T) {
	key := core.Key{JobID: core.JobID{Scheduler: "tioga", Job: "7"}}
	o := core.Outcome{Key: key, Environment: []core.Variable{{Name: "A", Unset: true}, {Name: "B", Value: "1"}}}
	for _, test := range []struct {
		warnings []string
		want     string
	}{
		{nil, "unset A\nexport B=1\n"},
		{
			[]string{"a\nexport LD_PRELOAD=x", "b"},
			"unset A\nexport B=1\nprint weft: warning: a export LD_PRELOAD=x\nprint weft: warning: b\n" +
				"print weft: `weft job 7` shows all nodes of the job\n",
		},
	} {
		o.Warnings = test.warnings
		got, err := scheduler.Environment(o, 1)
		if diff := cmp.Diff(core.HookReply{Stdout: []byte(test.want)}, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
	}
}

func TestReadNote(t *testing.T) {
	for text, want := range map[string]core.Reason{
		`{"v":2,"job":"7"}`: "", `{"v":3}`: core.BadVersion, `{"job":"7"}`: core.BadCall, `{"v":2`: core.BadCall,
		`{"v":2,"job":7}`: core.BadCall, `{"v":2,"x":"` + string(make([]byte, core.MaxNote)): core.BadCall,
	} {
		var note struct{ Job string }
		err := scheduler.ReadNote([]byte(text), 2, &note)
		if (err == nil) != (want == "") || err != nil && core.AsError(err).Reason != want || err == nil && note.Job != "7" {
			t.Errorf("%.40q: %v, %q", text, err, note.Job)
		}
	}
}
