package bolt_test

import (
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/backup"
	"github.com/weft-hpc/weft/store/bolt"
)

// childEnv makes the test binary run one of children instead of the tests.
const childEnv = "WEFT_BOLT_CHILD"

var children = map[string]func(dir string) error{
	"commit":    commitForever,
	"few":       commitFew,
	"disk full": fillDisk,
	"hold":      hold,
}

func TestMain(m *testing.M) {
	if child := children[os.Getenv(childEnv)]; child != nil {
		if err := child(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func meta(revision uint64) engine.Meta {
	return engine.Meta{Head: core.Head{Store: "a", Epoch: 1, Revision: revision}}
}

func open(t testing.TB, path string, o bolt.Options) *bolt.Store {
	t.Helper()
	s, err := bolt.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func shut(t testing.TB, s engine.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func commit(t testing.TB, s engine.Store, batch ...engine.Record) {
	t.Helper()
	if err := s.Commit(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
}

func same(t testing.TB, s engine.Store, want []engine.Record) {
	t.Helper()
	if d := cmp.Diff(want, all(t, s), cmpopts.IgnoreUnexported(core.Error{}), cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("the store has other records: %s", d)
	}
}

func reason(t testing.TB, err error, want core.Reason) *core.Error {
	t.Helper()
	e := core.AsError(err)
	if e == nil || e.Reason != want {
		t.Fatalf("got %v, want an error with reason %s", err, want)
	}
	return e
}

// restore makes a store of a backup.
func restore(path string, r io.Reader, now time.Time) error {
	return bolt.Make(path, "", func(put func(rec []byte) error) error { return backup.Restore("b", r, now, put) })
}
