package pbs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestQstatDoesNotWait has a qstat that waits where the file of its last question is new, as that of 23.06.06.
func TestQstatDoesNotWait(t *testing.T) {
	dir := t.TempDir()
	asked := filepath.Join(dir, "last")
	script := "#!/bin/sh\n[ -z \"$(find " + asked + " -mmin -1 2>&1)\" ] || echo waits\n>" + asked + "\n"
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
		t.Errorf("another command makes the file old: %v", err)
	}
	if _, err := os.Stat(asked); errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestNobodyPutsALinkThere has a user who puts a link, or another name, of a file of root's where qstat notes when it
// asked. qstat empties what it finds there.
func TestNobodyPutsALinkThere(t *testing.T) {
	for name, link := range map[string]func(string, string) error{"a link": os.Symlink, "another name": os.Link} {
		dir := t.TempDir()
		asked, victim := filepath.Join(dir, "last"), filepath.Join(dir, "victim")
		err := errors.Join(os.WriteFile(victim, []byte("of root"), 0o600), link(victim, asked))
		if err != nil {
			t.Fatal(err)
		}
		backdate(asked)
		first, err := os.Lstat(asked)
		if err != nil || !own(first) {
			t.Fatalf("%s: %v, %v: where no file is, a user can put a link", name, first, err)
		}
		backdate(asked)
		second, err := os.Lstat(asked)
		if err != nil || !os.SameFile(first, second) || second.ModTime().Unix() != 0 {
			t.Errorf("%s: the file was not kept and made old: %v", name, err)
		}
		if text, err := os.ReadFile(victim); err != nil || string(text) != "of root" { //nolint:gosec // of this test
			t.Errorf("%s: the file behind it: %q, %v", name, text, err)
		}
	}
}
