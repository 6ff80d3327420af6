package bolt

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/node"
)

// TestMovedUnderTheDaemon: a store or ledger whose path does not lead to the open file any more takes nothing, and
// takes it again when the file is back.
func TestMovedUnderTheDaemon(t *testing.T) {
	ctx := t.Context()
	type use map[string]func() error
	for kind, opened := range map[string]func(path string) (use, error){
		"store": func(path string) (use, error) {
			s, err := Open(path, Options{})
			if err != nil {
				return nil, err
			}
			t.Cleanup(func() { _ = s.Close() })
			revision := uint64(0)
			return use{
				"commit": func() error {
					revision++
					return s.Commit(ctx, []engine.Record{engine.Meta{Head: core.Head{Store: "a", Epoch: 1, Revision: revision}}})
				},
				"look": func() error { return s.Commit(ctx, nil) },
				"load": func() error { return s.Load(ctx, func(engine.Record) error { return nil }) },
			}, nil
		},
		"ledger": func(path string) (use, error) {
			l, err := OpenLedger(path)
			if err != nil {
				return nil, err
			}
			t.Cleanup(func() { _ = l.Close() })
			return use{
				"commit": func() error { return l.Commit(ctx, entries(1)) },
				"look":   func() error { return l.Commit(ctx, nil) },
				"load":   func() error { return l.Load(ctx, func(node.Record) error { return nil }) },
			}, nil
		},
	} {
		path := filepath.Join(t.TempDir(), "weft.db")
		calls, err := opened(path)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for name, put := range map[string]func() error{
			"no such file or directory":       func() error { return nil },
			"another file is in its place":    func() error { return os.WriteFile(path, whole, 0o600) },
			"too many levels of symbolic lin": func() error { return os.Symlink(path, path) },
		} {
			if err := errors.Join(os.Rename(path, path+".away"), put()); err != nil {
				t.Fatal(err)
			}
			for call, do := range calls {
				e := core.AsError(do())
				want := kind + ": " + path + ": " + name
				if e == nil || e.Reason != core.StoreFailed || !strings.Contains(e.What, want) || e.Remedy == "" {
					t.Errorf("%s of a %s: got %v, want %q and a remedy", call, kind, e, name)
				}
			}
			if err := os.Rename(path+".away", path); err != nil {
				t.Fatal(err)
			}
			for call, do := range calls {
				if err := do(); err != nil {
					t.Errorf("%s of a %s that is back: %v", call, kind, err)
				}
			}
		}
	}
}
