package bolt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
	"pgregory.net/rapid"

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
	f, err := OpenLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	m := &storetest.Ledger{}
	run := core.Run{
		Key:         core.Key{JobID: core.JobID{Scheduler: "s", Job: "1"}, Generation: 2},
		Fingerprint: core.Fingerprint{UID: 7, Submitted: 8},
	}
	batches := [][]node.Record{
		{
			node.Entry{
				ID: 1, Key: run.Key, UID: 7, Began: 9, State: node.Making,
				Grant:    core.Grant{Run: run, VNIs: []core.VNI{1024}, Limits: core.Limits{{Max: 5, Reserved: 2}}},
				Specs:    []core.ServiceSpec{{Device: "cxi0", Owner: core.UID(7), VNIs: []core.VNI{1024}}},
				Warnings: []string{"w"}, Why: "y",
			},
			node.Seen{Head: core.Head{Store: "a", Epoch: 1, Revision: 2}, ID: 1},
		},
		{node.Tombstone{ID: 2, Run: run}, node.Delete{Of: node.Entry{ID: 1}.Name()}},
		{node.Entry{ID: 3, Key: run.Key, Services: []core.Service{
			{Device: "cxi1", ID: 4, Owner: core.UID(7), VNIs: []core.VNI{1024}},
		}}},
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
		if f, err = OpenLedger(path); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(records(t, m), records(t, f)); d != "" {
			t.Errorf("after batch %d the file differs (-memory +file):\n%s", i, d)
		}
	}
	if _, err := OpenLedger(path); !errors.Is(err, core.Conflict) {
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
		b, err := encodeForm(want)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decodeForm(b); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("%T has a field that its form loses: %v\n%s", want, err, cmp.Diff(want, got))
		}
	}
}

func TestDamagedAndNewerFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "garbage.db")
	text := []byte("this is no ledger, and it is long enough to look like more than nothing")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLedger(path); !errors.Is(err, core.Corrupt) {
		t.Errorf("garbage: got %v, want Corrupt", err)
	}
	if _, err := decodeForm([]byte(`{"v":99,"seen":{}}`)); err == nil {
		t.Error("a record of a newer version was read")
	}
	if r, err := decodeForm([]byte(`{"v":1,"seen":{"ID":3,"later":[1]}}`)); err != nil || r != (node.Seen{ID: 3}) {
		t.Errorf("a record with a field of a later release was read as %v, %v", r, err)
	}
	if _, err := decodeForm([]byte(`{"v":1}`)); err == nil {
		t.Error("a record of no kind was read")
	}
}

func FuzzLedger(f *testing.F) {
	f.Add([]byte(`{"v":1,"seen":{"ID":3}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeForm(b)
		if err != nil {
			return
		}
		again, err := encodeForm(r)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := decodeForm(again); err != nil || cmp.Diff(r, s) != "" {
			t.Errorf("%q reads as %v and then as %v, %v", b, r, s, err)
		}
	})
}

// entries are a ledger's worth of records.
func entries(n int) []node.Record {
	var out []node.Record
	for i := range n {
		run := core.Run{Key: core.Key{JobID: core.JobID{Scheduler: "s", Job: fmt.Sprint(i)}}}
		grant := core.Grant{Run: run, VNIs: []core.VNI{1024}}
		out = append(out, node.Entry{ID: uint64(i), Key: run.Key, UID: 7, State: node.Ready, Grant: grant})
	}
	return out
}

// bareLedger is a ledger as releases without a seal wrote it.
func bareLedger(t *testing.T, path string, page int, of []node.Record) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true, NoFreelistSync: true, PageSize: page})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucket(ledgerBucket)
		if err != nil {
			return err
		}
		for _, r := range of {
			v, err := encodeForm(r)
			if err != nil {
				return err
			}
			if err := b.Put([]byte(r.Name()), v); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// An agent that is upgraded finds the jobs of the agent before it, which wrote pages of the kernel's size.
func TestLedgerOfAnOlderRelease(t *testing.T) {
	for _, page := range []int{4 << 10, 16 << 10, 64 << 10} {
		t.Run(fmt.Sprint(page), func(t *testing.T) { testOlder(t, page) })
	}
}

func testOlder(t *testing.T, page int) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	bareLedger(t, path, page, entries(300))
	m := &storetest.Ledger{}
	more := []node.Record{node.Delete{Of: node.Entry{ID: 3}.Name()}, node.Tombstone{ID: 900}}
	for _, batch := range [][]node.Record{entries(300), more} {
		if err := m.Commit(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 2 {
		f, err := OpenLedger(path)
		if err != nil {
			t.Fatal(err)
		}
		if round == 0 {
			if err := f.Commit(t.Context(), more); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(records(t, m), records(t, f)); d != "" {
			t.Errorf("round %d (-memory +file):\n%s", round, d)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A damaged ledger is refused or has lost nothing. It never makes bbolt panic.
func TestDamagedLedger(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger.db")
	f, err := OpenLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range entries(300) {
		if err := f.Commit(t.Context(), []node.Record{r}); err != nil {
			t.Fatal(err)
		}
	}
	want := records(t, f)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	bareLedger(t, filepath.Join(dir, "bare.db"), pageSize, entries(300))
	for _, name := range []string{"ledger.db", "bare.db"} {
		whole, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(t *rapid.T) {
			b := slices.Clone(whole)
			for range rapid.IntRange(1, 4).Draw(t, "damages") {
				at := rapid.IntRange(0, len(b)-1).Draw(t, "at")
				from := rapid.IntRange(0, len(b)-1).Draw(t, "from")
				switch rapid.IntRange(0, 3).Draw(t, "kind") {
				case 0:
					b[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
				case 1:
					clear(b[at:min(len(b), at+pageSize)])
				case 2:
					copy(b[at:], b[from:min(len(b), from+pageSize)])
				case 3:
					b = b[:max(at, 1)]
				}
			}
			path := filepath.Join(dir, "damaged.db")
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := OpenLedger(path)
			if err != nil {
				if e := core.AsError(err); e.Reason != core.StoreCorrupt && e.Reason != core.StoreNewer {
					t.Fatalf("got %v, want store-corrupt", err)
				}
				return
			}
			defer f.Close()
			got := map[string]node.Record{}
			err = f.Load(context.Background(), func(r node.Record) error { got[r.Name()] = r; return nil })
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); name == "ledger.db" && d != "" {
				t.Fatalf("(-written +read):\n%s", d)
			}
		})
	}
}

// With one damaged meta page bbolt opens the state before the last commit. OpenLedger never believes that, at no start.
func TestLedgerWithoutItsLastCommit(t *testing.T) {
	dir := t.TempDir()
	for name, page := range map[string]int64{"first": 0, "second": pageSize} {
		for _, kind := range []string{"sealed", "bare"} {
			path := filepath.Join(dir, name+kind)
			if kind == "bare" {
				bareLedger(t, path, pageSize, entries(300))
			} else {
				f, err := OpenLedger(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(f.Commit(t.Context(), entries(300)), f.Close()); err != nil {
					t.Fatal(err)
				}
			}
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			clear(b[page : page+pageSize])
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				f, err := OpenLedger(path)
				if e := core.AsError(err); e == nil || e.Reason != core.StoreCorrupt || e.Remedy == "" {
					t.Errorf("%s, %s meta page: got %v and %v, want store-corrupt and a remedy", kind, name, f, err)
				}
			}
		}
	}
}

// OpenLedger refuses a FIFO or a folder at once. A ledger that is cut short under the agent is an error and no crash.
func TestLedgerThatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fifo, dir} {
		if _, err := OpenLedger(path); core.AsError(err) == nil || core.AsError(err).Reason != core.StoreFailed {
			t.Errorf("%s: got %v, want store-failed", path, err)
		}
	}
	path := filepath.Join(dir, "ledger.db")
	f, err := OpenLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Commit(t.Context(), entries(300)), os.Truncate(path, pageSize)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := f.Commit(t.Context(), entries(1)); !errors.Is(err, core.Corrupt) {
			t.Errorf("commit: got %v, want Corrupt", err)
		}
		if err := f.Load(t.Context(), func(node.Record) error { return nil }); !errors.Is(err, core.Corrupt) {
			t.Errorf("load: got %v, want Corrupt", err)
		}
	}
	if err := os.Truncate(path, 1<<20); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(t.Context(), entries(1)); !errors.Is(err, core.Corrupt) {
		t.Errorf("commit to the hole: got %v, want Corrupt", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// A store has one size of pages. A ledger with a record of no kind is refused before anything acts on it.
func TestFormOfFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "pages")
	bareLedger(t, path, 16<<10, nil)
	if _, err := storeLayout.verify(path); err == nil || !strings.Contains(err.Error(), "its pages have 16384 bytes") {
		t.Errorf("a store with pages of 16 KiB: %v", err)
	}
	f, err := OpenLedger(filepath.Join(dir, "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	err = f.update(func(tx *bbolt.Tx) error {
		return sealed(tx, func(now *seal) error {
			return now.set(tx.Bucket(ledgerBucket), []byte("x"), summed([]byte("{}"), 0, 1, []byte("x")))
		})
	})
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLedger(f.path); !errors.Is(err, core.Corrupt) {
		t.Errorf("a ledger with a record of no kind: got %v, want Corrupt", err)
	}
}

// A page that the disk cannot give any more is an error and no crash, also in the middle of a read.
func TestAPageIsGoneUnderARead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	f, err := OpenLedger(path)
	if err := errors.Join(err, f.Commit(t.Context(), entries(300))); err != nil {
		t.Fatal(err)
	}
	err = f.view(func(tx *bbolt.Tx) error {
		b := tx.Bucket(ledgerBucket)
		return errors.Join(os.Truncate(path, pageSize), b.ForEach(func(_, _ []byte) error { return nil }))
	})
	if !errors.Is(err, core.Corrupt) || f.Close() != nil {
		t.Errorf("got %v, want %v", err, core.Corrupt)
	}
}
