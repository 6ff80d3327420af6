package bolt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
)

// TestWitnessIsSynced: a note outlives the host's power about a second later, also where nothing closes the witness.
func TestWitnessIsSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, err := openWitness(filepath.Join(t.TempDir(), "head"), nil)
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

// TestWitnessIsLost takes the witness away or puts something else in its place. The store tells it once, and again when
// the witness is back.
func TestWitnessIsLost(t *testing.T) {
	for name, c := range map[string]struct {
		put  func(path string) error
		want string
	}{
		"nothing":      {func(string) error { return nil }, "no such file or directory"},
		"FIFO":         {func(path string) error { return syscall.Mkfifo(path, 0o600) }, "another file is in its place"},
		"another file": {func(path string) error { return os.WriteFile(path, nil, 0o600) }, "another file is in its place"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "head")
				var told []string
				w, _, err := openWitness(path, func(err error) { told = append(told, fmt.Sprint(err)) })
				if err != nil {
					t.Fatal(err)
				}
				defer w.close()
				saw := func(want ...string) {
					t.Helper()
					time.Sleep(3 * syncEvery)
					synctest.Wait()
					if d := cmp.Diff(want, told); d != "" {
						t.Error(d)
					}
				}
				saw()
				if err := errors.Join(os.Rename(path, path+".away"), c.put(path)); err != nil {
					t.Fatal(err)
				}
				saw(c.want)
				if err := os.Rename(path+".away", path); err != nil {
					t.Fatal(err)
				}
				saw(c.want, "<nil>")
			})
		})
	}
}

// TestWitnessTakesNoNote: the store tells a note that fails, too.
func TestWitnessTakesNoNote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "head")
		var told []string
		w, _, err := openWitness(path, func(err error) { told = append(told, fmt.Sprint(err)) })
		if err != nil {
			t.Fatal(err)
		}
		defer w.close()
		whole := w.f
		if w.f, err = os.Open(path); err != nil {
			t.Fatal(err)
		}
		defer whole.Close()
		w.note(core.Head{Store: "a", Incarnation: 1, Epoch: 1})
		time.Sleep(2 * syncEvery)
		synctest.Wait()
		if d := cmp.Diff([]string{"bad file descriptor"}, told); d != "" {
			t.Error(d)
		}
	})
}
