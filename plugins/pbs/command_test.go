package pbs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestQstatDoesNotWait has a qstat that waits where the file of its last question is there, as that of 23.06.06.
func TestQstatDoesNotWait(t *testing.T) {
	dir := t.TempDir()
	asked := filepath.Join(dir, "last")
	script := "#!/bin/sh\n[ ! -e " + asked + " ] || echo waits\n>" + asked + "\n"
	for _, name := range []string{"qstat", "qdel"} {
		path := filepath.Join(dir, "bin", name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err = errors.Join(err, os.WriteFile(path, []byte(script), 0o700)); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	run := commands(settings{exec: dir}, asked)
	for range 3 {
		if out, err := run(t.Context(), "qstat"); err != nil || len(out) > 0 {
			t.Errorf("%q, %v", out, err)
		}
	}
	if out, err := run(t.Context(), "qdel"); err != nil || len(out) == 0 {
		t.Errorf("another command removes the file: %v", err)
	}
	if _, err := os.Stat(asked); errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
