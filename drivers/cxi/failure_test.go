package cxi

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAMissingDeviceFile: only a file that is missing gets the remedy that makes it.
func TestAMissingDeviceFile(t *testing.T) {
	dir := t.TempDir()
	for _, folder := range []string{"sys", "dev"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "dev/cxi0"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	sys := sysfs(filepath.Join(dir, "sys"))
	for name, c := range map[string]struct {
		device string
		err    errno
		lacks  bool
	}{
		"missing": {"cxi1", enoent, true}, "there": {"cxi0", enoent, false}, "another fault": {"cxi1", eio, false},
	} {
		e := unopened(sys, c.device, c.err)
		if strings.Contains(e.Remedy, "modprobe cxi-user") != c.lacks {
			t.Errorf("%s: %s: %s", name, e.What, e.Remedy)
		}
	}
}
