package bolt_test

import (
	"context"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/bolt"
	"github.com/weft-hpc/weft/store/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	storetest.Conform(t, func(name string) (engine.Store, error) {
		return bolt.Open(filepath.Join(dir, name+".db"), bolt.Options{})
	})
}

// all loads every record.
func all(t rapid.TB, s engine.Store) (found []engine.Record) {
	tell := func(r engine.Record) error { found = append(found, r); return nil }
	if err := s.Load(context.Background(), tell); err != nil {
		t.Fatalf("Load: %v", err)
	}
	return found
}
