package bolt

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// FuzzExamine: no bytes make it panic, and what it passes bbolt can open and read.
func FuzzExamine(f *testing.F) {
	dir := f.TempDir()
	path := filepath.Join(dir, "seed.db")
	s, err := Open(path, Options{})
	if err != nil {
		f.Fatal(err)
	}
	if err := s.Commit(f.Context(), []engine.Record{engine.Meta{Head: core.Head{Store: "a", Revision: 1}}, engine.Node{Name: "n"}}); err != nil {
		f.Fatal(err)
	}
	if err := s.Close(); err != nil {
		f.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	m, _, ok := superblocks(bytes.NewReader(b))
	if !ok {
		f.Fatal("the seed is not sound")
	}
	f.Add(b[:m.high*pageSize])
	f.Add(b[:2*pageSize])
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := storeLayout.examine(bytes.NewReader(b), int64(len(b))); err != nil {
			return
		}
		path := filepath.Join(t.TempDir(), "weft.db")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		_ = s.Load(t.Context(), func(engine.Record) error { return nil })
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
