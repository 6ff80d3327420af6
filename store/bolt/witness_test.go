package bolt

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/core"
)

// TestWitnessIsSynced: a note outlives the host's power about a second later, also where nothing closes the witness.
func TestWitnessIsSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, err := openWitness(filepath.Join(t.TempDir(), "head"))
		if err != nil {
			t.Fatal(err)
		}
		defer w.close()
		for revision := range uint64(3) {
			w.note(core.Head{Store: "a", Incarnation: 1, Epoch: 1, Revision: revision})
			if !w.dirty.Load() {
				t.Fatal("it is synced with each commit")
			}
			time.Sleep(syncEvery)
			if synctest.Wait(); w.dirty.Load() {
				t.Fatalf("revision %d is not on the disk after %v", revision, syncEvery)
			}
		}
	})
}
