package bolt_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/store/bolt"
)

// TestRemedies puts something else in the place of a file. The remedy is about that file, and not about a disk.
func TestRemedies(t *testing.T) {
	t.Parallel()
	store := func(path string) error { _, err := bolt.Open(path, bolt.Options{}); return err }
	ledger := func(path string) error { _, err := bolt.OpenLedger(path); return err }
	witness := func(path string) error {
		_, err := bolt.Open(filepath.Join(filepath.Dir(path), "store"), bolt.Options{Witness: path})
		return err
	}
	fifo := func(path string) error { return syscall.Mkfifo(path, 0o600) }
	folder := func(path string) error { return os.Mkdir(path, 0o700) }
	circle := func(path string) error { return os.Symlink(path, path) }
	for _, tt := range []struct {
		name, end string
		open      func(string) error
	}{
		{"store", "", store}, {"store", ".lock", store},
		{"ledger", "", ledger}, {"ledger", ".lock", ledger},
		{"witness", "", witness},
	} {
		for kind, put := range map[string]func(string) error{"FIFO": fifo, "folder": folder, "circle": circle} {
			t.Run(tt.name+tt.end+"/"+kind, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "file")
				if err := put(path + tt.end); err != nil {
					t.Fatal(err)
				}
				e := reason(t, tt.open(path), core.StoreFailed)
				want := "move " + path + tt.end + " away"
				if !strings.HasPrefix(e.Remedy, want) || strings.Count(e.What, path) > 1 {
					t.Errorf("%s, want %s", e.Line(), want)
				}
			})
		}
	}
}
