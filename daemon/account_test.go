package daemon

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/observe"
)

// TestTheFileOfTheAccount is next to the store, for root alone, and gives back what it was given.
func TestTheFileOfTheAccount(t *testing.T) {
	if accountOf(config.Server{Store: config.MemoryStore}) != nil {
		t.Error("a store in memory has a file")
	}
	dir := t.TempDir()
	kept := accountOf(config.Server{Store: filepath.Join(dir, "weft.db")})
	if s, err := kept.Load(); err != nil || !s.Since.IsZero() {
		t.Errorf("before the first save: %+v, %v", s, err)
	}
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	run := core.Run{
		Key:         core.Key{JobID: core.JobID{Scheduler: "slurm", Job: "7"}, Generation: 1},
		Fingerprint: core.Fingerprint{UID: 7, Submitted: 1},
	}
	want := observe.State{
		Since: noon, Jobs: []observe.Job{{Run: run, Hosts: "n[1-2]", Pools: []string{"jobs"}}},
		Hours: []observe.Hour{{At: noon, Counts: observe.Counts{Jobs: 1, Granted: 1}, Peaks: map[string]int{"jobs": 1}}},
		Left:  []observe.Left{{Node: "n1", VNIs: core.VNIList{4000}, UID: 7, Sure: observe.Likely, Since: noon, Last: noon}},
	}
	if err := kept.Save(want); err != nil {
		t.Fatal(err)
	}
	got, err := kept.Load()
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	path := filepath.Join(dir, "weft.observe.json")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	for _, damaged := range []string{"", `{"since":`, `{"jobs":7}`} {
		if err := os.WriteFile(path, []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := kept.Load(); core.ReasonOf(err) != core.StoreCorrupt {
			t.Errorf("%q: %v", damaged, err)
		}
	}
}
