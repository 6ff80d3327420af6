package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/dev/fulltest"
	"github.com/weft-hpc/weft/store/storetest"
)

func records(t *testing.T, s node.Store) map[string]node.Record {
	t.Helper()
	out := map[string]node.Record{}
	if err := s.Load(t.Context(), func(r node.Record) error { out[r.Name()] = r; return nil }); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestFileRemembersWhatMemoryDoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	m := &storetest.Ledger{}
	run := core.Run{Key: core.Key{JobID: core.JobID{Scheduler: "s", Job: "1"}, Generation: 2}, Fingerprint: core.Fingerprint{UID: 7, Submitted: 8}}
	batches := [][]node.Record{
		{
			node.Entry{ID: 1, Key: run.Key, UID: 7, Began: 9, State: node.Making, Grant: core.Grant{Run: run, VNIs: []core.VNI{1024}, Limits: core.Limits{{Max: 5, Reserved: 2}}},
				Specs: []core.ServiceSpec{{Device: "cxi0", Owner: core.UID(7), VNIs: []core.VNI{1024}}}, Warnings: []string{"w"}, Why: "y"},
			node.Seen{Head: core.Head{Store: "a", Epoch: 1, Revision: 2}, ID: 1},
		},
		{node.Tombstone{ID: 2, Run: run}, node.Delete{Of: node.Entry{ID: 1}.Name()}},
		{node.Entry{ID: 3, Key: run.Key, Services: []core.Service{{Device: "cxi1", ID: 4, Owner: core.UID(7), VNIs: []core.VNI{1024}}}}},
	}
	for i, b := range batches {
		for _, s := range []node.Store{f, m} {
			if err := s.Commit(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if f, err = Open(path); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(records(t, m), records(t, f)); d != "" {
			t.Errorf("after batch %d the file differs (-memory +file):\n%s", i, d)
		}
	}
	if _, err := Open(path); !errors.Is(err, core.Conflict) {
		t.Errorf("a second opener got %v, want StoreLocked", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestNoFieldIsLost(t *testing.T) {
	for _, want := range []node.Record{
		fulltest.Value[node.Entry](), fulltest.Value[node.Tombstone](), fulltest.Value[node.Seen](),
	} {
		b, err := encode(want)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decode(b); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%T has a field that its form loses: %v\n%s", want, err, cmp.Diff(want, got))
		}
	}
}

func TestDamagedAndNewerFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "garbage.db")
	if err := os.WriteFile(path, []byte("this is no ledger, and it is long enough to look like more than nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); !errors.Is(err, core.Corrupt) {
		t.Errorf("garbage: got %v, want Corrupt", err)
	}
	if _, err := decode([]byte(`{"v":99,"seen":{}}`)); err == nil {
		t.Error("a record of a newer version was read")
	}
	if r, err := decode([]byte(`{"v":1,"seen":{"ID":3,"later":[1]}}`)); err != nil || r != (node.Seen{ID: 3}) {
		t.Errorf("a record with a field of a later release was read as %v, %v", r, err)
	}
	if _, err := decode([]byte(`{"v":1}`)); err == nil {
		t.Error("a record of no kind was read")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"v":1,"seen":{"ID":3}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decode(b)
		if err != nil {
			return
		}
		again, err := encode(r)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := decode(again); err != nil || cmp.Diff(r, s) != "" {
			t.Errorf("%q reads as %v and then as %v, %v", b, r, s, err)
		}
	})
}
