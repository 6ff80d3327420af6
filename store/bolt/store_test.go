package bolt_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/bolt"
)

func TestHeadIsThatOfTheLastCommit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "weft.db")
	s := open(t, path, bolt.Options{})
	if s.Head() != (core.Head{}) {
		t.Errorf("an empty store's head is %+v", s.Head())
	}
	commit(t, s, meta(3), engine.Node{Name: "n"}, meta(4))
	for range 2 {
		if s.Head() != meta(4).Head {
			t.Errorf("head is %+v", s.Head())
		}
		shut(t, s)
		s = open(t, path, bolt.Options{})
	}
	same(t, s, []engine.Record{meta(4), engine.Node{Name: "n"}})
}

func TestCommitOfCancelledContext(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "weft.db"), bolt.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := s.Commit(ctx, []engine.Record{meta(1)})
	reason(t, err, core.StoreFailed)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the cause is lost: %v", err)
	}
	commit(t, s, meta(1))
}

func TestRecordThatIsTooLarge(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "weft.db"), bolt.Options{})
	commit(t, s, meta(1))
	for name, r := range map[string]engine.Record{
		"value": engine.Text{Hash: "h", Text: strings.Repeat("x", 17<<20)},
		"name":  engine.Node{Name: strings.Repeat("x", 1<<16)},
	} {
		reason(t, s.Commit(t.Context(), []engine.Record{engine.Node{Name: "before"}, r, meta(2)}), core.StoreFailed)
		same(t, s, []engine.Record{meta(1)})
		if s.Head() != meta(1).Head {
			t.Errorf("%s: head is %+v", name, s.Head())
		}
	}
	commit(t, s, meta(2))
}

func TestClosedStoreRefuses(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "weft.db"), bolt.Options{})
	shut(t, s)
	shut(t, s)
	reason(t, s.Commit(t.Context(), []engine.Record{meta(1)}), core.StoreFailed)
	reason(t, s.Load(t.Context(), func(engine.Record) error { return nil }), core.StoreFailed)
	reason(t, s.Export(t.Context(), new(strings.Builder)), core.StoreFailed)
	if _, err := s.Stats(); err == nil {
		t.Error("Stats of a closed store")
	}
}

func TestLoadEndsWithTellsError(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "weft.db"), bolt.Options{})
	commit(t, s, meta(1), engine.Node{Name: "n"})
	enough, n := errors.New("enough"), 0
	if err := s.Load(t.Context(), func(engine.Record) error { n++; return enough }); !errors.Is(err, enough) || n != 1 {
		t.Errorf("%v after %d records", err, n)
	}
	commit(t, s, meta(2))
}

func TestOpenWhereItCannot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := bolt.Open(filepath.Join(dir, "none", "weft.db"), bolt.Options{})
	reason(t, err, core.StoreFailed)
	if mend := core.AsError(err).Remedy; !strings.Contains(mend, "make the folder "+filepath.Join(dir, "none")) || strings.Contains(mend, "free space") {
		t.Errorf("of a folder that is not there it says: %s", mend)
	}
	if err := os.Mkdir(filepath.Join(dir, "weft.db"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err = bolt.Open(filepath.Join(dir, "weft.db"), bolt.Options{})
	reason(t, err, core.StoreFailed)
	_, err = bolt.Open(filepath.Join(dir, "good.db"), bolt.Options{Witness: filepath.Join(dir, "none", "head")})
	reason(t, err, core.StoreFailed)
	open(t, filepath.Join(dir, "good.db"), bolt.Options{})
}

func TestStoreBehindALink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	there, link := filepath.Join(dir, "disk.db"), filepath.Join(dir, "weft.db")
	s := open(t, there, bolt.Options{})
	commit(t, s, meta(1))
	if err := os.Symlink(there, link); err != nil {
		t.Fatal(err)
	}
	_, err := bolt.Open(link, bolt.Options{})
	reason(t, err, core.StoreLocked)
	shut(t, s)
	same(t, open(t, link, bolt.Options{}), []engine.Record{meta(1)})
}
