package bolt_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/bolt"
	"github.com/weft-hpc/weft/store/record"
	"github.com/weft-hpc/weft/store/storetest"
)

// written makes a closed store of a few hundred records and gives what is in it, and what was before its last commit.
func written(t testing.TB, path string) (before, now []engine.Record) {
	s := open(t, path, bolt.Options{})
	for i := range uint64(200) {
		commit(t, s, storetest.Job(i), engine.Transition{Serial: i, State: engine.Active}, engine.Join{Serial: i, Node: "n2"}, meta(i+1))
	}
	before = all(t, s)
	commit(t, s, engine.Node{Name: "last"}, meta(201))
	now = all(t, s)
	shut(t, s)
	return before, now
}

func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "good.db")
	written(t, path)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	high := binary.NativeEndian.Uint64(good[16+40:]) // of the first meta page; the other's is near
	changed := func(at int, to ...byte) []byte {
		b := bytes.Clone(good)
		copy(b[at:], to)
		return b
	}
	for name, b := range map[string][]byte{
		"empty":               {},
		"one byte":            good[:1],
		"one page":            good[:4096],
		"two pages":           good[:8192],
		"half":                good[:len(good)/2],
		"a page short":        good[:(high-2)*4096],
		"zeros":               make([]byte, len(good)),
		"text":                []byte(strings.Repeat("this is no store\n", 4096)),
		"both magics":         append(changed(16, 1, 2, 3, 4)[:4096], changed(4096+16, 1, 2, 3, 4)[4096:]...),
		"both metas":          append(changed(16+40, 1)[:4096], changed(4096+16+40, 1)[4096:]...),
		"zeros after metas":   append(bytes.Clone(good[:8192]), make([]byte, len(good)-8192)...),
		"garbage after metas": append(bytes.Clone(good[:8192]), bytes.Repeat([]byte{0xa5}, len(good)-8192)...),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "weft.db")
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := bolt.Open(path, bolt.Options{})
			e := reason(t, err, core.StoreCorrupt)
			if !strings.HasPrefix(e.What, "store: "+path+": ") || e.Remedy == "" {
				t.Errorf("%q; %q", e.What, e.Remedy)
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, b) {
				t.Errorf("the damaged file was changed (%v)", err)
			}
		})
	}
}

// TestFlippedBits: whatever bits of the file change, it is refused, or nothing that counts was hit. Where bbolt falls back on the state before the last
// commit, Seen says so.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "good.db")
	before, now := written(t, path)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	good = good[:min(len(good), 1<<20)]
	refused, behind, harmless := 0, 0, 0
	flip := func(t rapid.TB, page, off, bit int) {
		b := bytes.Clone(good)
		b[page*4096+off] ^= 1 << bit
		flipped := filepath.Join(dir, "flipped.db")
		if err := os.WriteFile(flipped, b, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := bolt.Open(flipped, bolt.Options{})
		if err != nil {
			refused++
			if r := core.AsError(err).Reason; r != core.StoreCorrupt && r != core.StoreNewer {
				t.Fatalf("page %d offset %d: %v", page, off, err)
			}
			return
		}
		defer func() { _ = s.Close() }()
		got := fmt.Sprint(all(t, s))
		switch {
		case s.Head().Before(s.Seen()) && (got == fmt.Sprint(before) || got == fmt.Sprint(now)):
			behind++
		case got == fmt.Sprint(now) && s.Seen() == core.Head{}:
			harmless++
		default:
			t.Fatalf("page %d offset %d: other records came back, and Seen is %+v", page, off, s.Seen())
		}
	}
	// What chance alone may miss: each page of meta data, in what its sum covers, and the kind of each of the first pages, of which some are in use.
	for page := range 2 {
		flip(t, page, 64, 0)
	}
	for page := 2; page < min(12, len(good)/4096); page++ {
		flip(t, page, 8, 0)
	}
	rapid.Check(t, func(t *rapid.T) {
		page := rapid.IntRange(0, len(good)/4096-1).Draw(t, "page")
		if rapid.IntRange(0, 4).Draw(t, "meta") == 0 {
			page = rapid.IntRange(0, 1).Draw(t, "which")
		}
		// The head of a page and its first elements are where the structure is.
		off := rapid.OneOf(rapid.IntRange(0, 95), rapid.IntRange(0, 4095)).Draw(t, "offset")
		flip(t, page, off, rapid.IntRange(0, 7).Draw(t, "bit"))
	})
	t.Logf("%d refused, %d taken to be behind, %d harmless", refused, behind, harmless)
	if refused == 0 || behind == 0 {
		t.Error("the flips did not hit what they should")
	}
}

// tamper changes a store's file through bbolt.
func tamper(t *testing.T, path string, do func(*bbolt.Tx) error) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(do); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTamperedFiles(t *testing.T) {
	t.Parallel()
	made := filepath.Join(t.TempDir(), "weft.db")
	_, now := written(t, made)
	good, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	fresh := func(t *testing.T) string {
		path := filepath.Join(t.TempDir(), "weft.db")
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	anyKey := func(tx *bbolt.Tx, bucket string) (*bbolt.Bucket, []byte, []byte) {
		b := tx.Bucket([]byte(bucket))
		k, v := b.Cursor().First()
		return b, bytes.Clone(k), bytes.Clone(v)
	}
	for name, c := range map[string]struct {
		want core.Reason
		do   func(*bbolt.Tx) error
	}{
		"newer format": {core.StoreNewer, func(tx *bbolt.Tx) error {
			return tx.Bucket([]byte("weft")).Put([]byte("format"), binary.BigEndian.AppendUint32(nil, bolt.Format+1))
		}},
		"newer format with a new table": {core.StoreNewer, func(tx *bbolt.Tx) error {
			if _, err := tx.CreateBucket([]byte("quotas")); err != nil {
				return err
			}
			return tx.Bucket([]byte("weft")).Put([]byte("format"), binary.BigEndian.AppendUint32(nil, bolt.Format+1))
		}},
		"no format": {core.StoreCorrupt, func(tx *bbolt.Tx) error { return tx.Bucket([]byte("weft")).Delete([]byte("format")) }},
		"no seal":   {core.StoreCorrupt, func(tx *bbolt.Tx) error { return tx.Bucket([]byte("weft")).Delete([]byte("seal")) }},
		"a record gone": {core.StoreCorrupt, func(tx *bbolt.Tx) error {
			b, k, _ := anyKey(tx, "phase")
			return b.Delete(k)
		}},
		"a record elsewhere": {core.StoreCorrupt, func(tx *bbolt.Tx) error {
			b, k, v := anyKey(tx, "phase")
			if err := b.Delete(k); err != nil {
				return err
			}
			return b.Put(append(k, 'x'), v)
		}},
		"a record twice": {core.StoreCorrupt, func(tx *bbolt.Tx) error {
			b, k, v := anyKey(tx, "join")
			return b.Put(append(k, 'x'), v)
		}},
		"another record, with its right checksum": {core.StoreCorrupt, func(tx *bbolt.Tx) error {
			b, k, v := anyKey(tx, "join")
			r, err := new(record.Decoder).Decode(v[:len(v)-4])
			if err != nil {
				return err
			}
			j := r.(engine.Join)
			j.Clean = !j.Clean
			rec, err := record.Append(nil, j)
			if err != nil {
				return err
			}
			sum := crc32.Checksum(slices.Concat([]byte{byte(engine.TableJoin)}, k, rec), crc32.MakeTable(crc32.Castagnoli))
			return b.Put(k, binary.BigEndian.AppendUint32(rec, sum))
		}},
		"a short value": {core.StoreCorrupt, func(tx *bbolt.Tx) error {
			b, k, _ := anyKey(tx, "node")
			return b.Put(k, []byte{1})
		}},
		"a table gone":    {core.StoreCorrupt, func(tx *bbolt.Tx) error { return tx.DeleteBucket([]byte("tombstone")) }},
		"a foreign table": {core.StoreCorrupt, func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("x")); return err }},
		"a bucket in a table": {core.StoreCorrupt, func(tx *bbolt.Tx) error {
			_, err := tx.Bucket([]byte("node")).CreateBucket([]byte("x"))
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			path := fresh(t)
			tamper(t, path, c.do)
			_, err := bolt.Open(path, bolt.Options{})
			if e := reason(t, err, c.want); e.Remedy == "" {
				t.Errorf("%q says no way back", e.What)
			}
		})
	}
	t.Run("another program's database", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "other.db")
		tamper(t, path, func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("x")); return err })
		_, err := bolt.Open(path, bolt.Options{})
		reason(t, err, core.StoreCorrupt)
	})
	t.Run("nothing but a freelist", func(t *testing.T) {
		path := fresh(t)
		tamper(t, path, func(*bbolt.Tx) error { return nil })
		same(t, open(t, path, bolt.Options{}), now)
	})
}

func TestAnotherProgramHasItOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "weft.db")
	written(t, path)
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = bolt.Open(path, bolt.Options{})
	reason(t, err, core.StoreLocked)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, path, bolt.Options{})
}

func TestCompaction(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "weft.db")
	s := open(t, path, bolt.Options{})
	for i := range uint64(64) {
		commit(t, s, engine.Text{Hash: fmt.Sprint(i), Text: strings.Repeat("x", 50000)}, storetest.Job(i), meta(i+1))
	}
	var batch []engine.Record
	for i := range 60 {
		batch = append(batch, engine.Delete{At: engine.Text{Hash: fmt.Sprint(i)}.Slot()})
	}
	commit(t, s, append(batch, meta(65))...)
	want := all(t, s)
	big, err := s.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if big.Bytes < 3<<20 || big.Free*2 < big.Bytes {
		t.Fatalf("before: %+v is not worth compacting", big)
	}
	shut(t, s)
	if err := os.WriteFile(path+".new", []byte("what a killed process left"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, bolt.Options{})
	same(t, s, want)
	small, err := s.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if small.Bytes*4 > big.Bytes {
		t.Errorf("%d bytes became %d", big.Bytes, small.Bytes)
	}
	commit(t, s, meta(66))
	shut(t, s)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	open(t, path, bolt.Options{})
	if again, err := os.Stat(path); err != nil || !os.SameFile(info, again) {
		t.Error("a file that is small already was compacted again")
	}
}

func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "weft.db")
	s := open(t, path, bolt.Options{})
	var batch []engine.Record
	// More than Make writes in one transaction.
	for i := range uint64(2500) {
		batch = append(batch, storetest.Job(i), engine.Join{Serial: i, Node: "n2"})
	}
	last := engine.Meta{Head: core.Head{Store: "a", Epoch: 4, Revision: 9999}, Serial: 2500, Without: []string{"n9"}, Cursors: []engine.Cursor{{Pool: "jobs", VNI: 77}}}
	commit(t, s, append(batch, last)...)
	want := all(t, s)
	var out bytes.Buffer
	if err := s.Export(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 27, 3, 0, 0, 0, time.UTC)
	err := restore(path, bytes.NewReader(out.Bytes()), now)
	reason(t, err, core.StoreLocked)
	shut(t, s)
	err = restore(path, bytes.NewReader(out.Bytes()), now)
	reason(t, err, core.BadCall)

	to := filepath.Join(dir, "restored.db")
	if err := restore(to, bytes.NewReader(out.Bytes()), now); err != nil {
		t.Fatal(err)
	}
	s = open(t, to, bolt.Options{})
	head := s.Head()
	if head.Store == "" || head.Store == "a" || head.Epoch != 4 || head.Revision != 10000 {
		t.Errorf("the restored store's head is %+v", head)
	}
	last.Head, last.Recovering, last.Without = head, now, nil
	want[0] = last
	same(t, s, want)
	commit(t, s, engine.Meta{Head: core.Head{Store: head.Store, Epoch: 4, Revision: 10001}})
}

// A backup that is not whole leaves no store, and that of an empty store makes one.
func TestRestoreRefusals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "weft.db")
	written(t, path)
	var out bytes.Buffer
	if err := open(t, path, bolt.Options{}).Export(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "to.db")
	reason(t, restore(to, bytes.NewReader(out.Bytes()[:out.Len()-1]), time.Now()), core.StoreCorrupt)
	if left, _ := filepath.Glob(to + "*"); len(left) != 1 || left[0] != to+".lock" {
		t.Errorf("left %v", left)
	}
	s := open(t, filepath.Join(dir, "empty.db"), bolt.Options{})
	out.Reset()
	if err := s.Export(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if err := restore(to, &out, time.Now()); err != nil {
		t.Errorf("an empty store's backup: %v", err)
	}
	if h := open(t, to, bolt.Options{}).Head(); h.Store == "" || h.Revision != 1 {
		t.Errorf("its head is %+v", h)
	}
}

func TestWitness(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, run := filepath.Join(dir, "weft.db"), filepath.Join(dir, "head")
	o := bolt.Options{Witness: run}
	backup := func() []byte {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	s := open(t, path, o)
	if s.Seen() != (core.Head{}) {
		t.Errorf("at first %+v was seen", s.Seen())
	}
	for i := range uint64(7) {
		commit(t, s, meta(i+1))
	}
	shut(t, s)
	old := backup()
	s = open(t, path, o)
	if s.Seen() != meta(7).Head || s.Head().Before(s.Seen()) {
		t.Errorf("%+v was seen of %+v", s.Seen(), s.Head())
	}
	commit(t, s, meta(8))
	shut(t, s)

	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, o)
	if s.Seen() != meta(8).Head || !s.Head().Before(s.Seen()) {
		t.Errorf("a store put back: %+v was seen of %+v", s.Seen(), s.Head())
	}
	shut(t, s)

	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, o)
	if s.Seen() != meta(8).Head || !s.Head().Before(s.Seen()) {
		t.Errorf("a store made anew: %+v was seen of %+v", s.Seen(), s.Head())
	}
	other := engine.Meta{Head: core.Head{Store: "b", Epoch: 1, Revision: 1}}
	commit(t, s, other)
	shut(t, s)
	s = open(t, path, o)
	if s.Seen() != other.Head {
		t.Errorf("after the new store's first commit %+v was seen", s.Seen())
	}
	shut(t, s)

	// The newest slot is cut or flipped: the other one counts.
	b, err := os.ReadFile(run)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b, []byte("\x01b"))
	b[at+1] ^= 1
	if err := os.WriteFile(run, b, 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, o)
	if s.Seen() != meta(8).Head {
		t.Errorf("of a damaged witness %+v was seen", s.Seen())
	}
	if _, err := s.Stats(); err != nil {
		t.Error(err)
	}
}

// Processes that are killed one after the other, each before it could note its last commit, leave the witness one commit
// behind and not many: the first thing that a store notes is how far it is.
func TestWitnessIsNoMoreThanOneCommitBehind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, o := paths(dir)
	s := open(t, path, o)
	commit(t, s, meta(1))
	shut(t, s)
	for revision := uint64(2); revision < 5; revision++ {
		s := open(t, path, o)
		noted, err := os.ReadFile(o.Witness)
		if err != nil {
			t.Fatal(err)
		}
		commit(t, s, meta(revision))
		shut(t, s)
		if err := os.WriteFile(o.Witness, noted, 0o600); err != nil {
			t.Fatal(err)
		}
		twin, o := copied(t, dir)
		s = open(t, twin, o)
		if got := s.Seen().Revision; got != revision-1 {
			t.Errorf("the witness says revision %d, and the store is at %d", got, revision)
		}
		shut(t, s)
	}
}

// A file that another program cuts short under an open store ends the store, and bbolt never writes on behind the gap.
func TestFileCutShortUnderTheStore(t *testing.T) {
	t.Parallel()
	for _, pages := range []int64{0, 1, 2, 4, 10, 200} {
		for _, first := range []string{"commit", "load", "export", "stats"} {
			t.Run(fmt.Sprint(pages, first), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "weft.db")
				s := open(t, path, bolt.Options{})
				var batch []engine.Record
				for serial := range uint64(3000) {
					batch = append(batch, storetest.Job(serial))
				}
				commit(t, s, append(batch, meta(1))...)
				must(t, os.Truncate(path, pages*4096))
				for _, call := range []string{first, "commit", "load", "export", "stats"} {
					reason(t, map[string]func() error{
						"commit": func() error { return s.Commit(t.Context(), []engine.Record{storetest.Job(7), meta(2)}) },
						"load":   func() error { return s.Load(t.Context(), func(engine.Record) error { return nil }) },
						"export": func() error { return s.Export(t.Context(), new(strings.Builder)) },
						"stats":  func() error { _, err := s.Stats(); return err },
					}[call](), core.StoreCorrupt)
				}
				if info, err := os.Stat(path); err != nil || info.Size() != pages*4096 {
					t.Errorf("after the cut the file has %d bytes, %v", info.Size(), err)
				}
				shut(t, s)
			})
		}
	}
}

// What is no file is refused at once, whatever it is.
func TestNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo, folder := filepath.Join(dir, "fifo"), filepath.Join(dir, "folder")
	must(t, syscall.Mkfifo(fifo, 0o600))
	must(t, os.Mkdir(folder, 0o700))
	for _, path := range []string{fifo, folder} {
		_, err := bolt.Open(path, bolt.Options{})
		reason(t, err, core.StoreFailed)
	}
	for _, path := range []string{fifo, folder, os.DevNull} {
		_, err := bolt.Open(filepath.Join(dir, "weft.db"), bolt.Options{Witness: path})
		reason(t, err, core.StoreFailed)
	}
	must(t, syscall.Mkfifo(filepath.Join(dir, "a.db.lock"), 0o600))
	_, err := bolt.Open(filepath.Join(dir, "a.db"), bolt.Options{})
	reason(t, err, core.StoreFailed)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestWitnessFolderIsMarked: backup tools leave out a folder of the witness's own, and no other.
func TestWitnessFolderIsMarked(t *testing.T) {
	own, shared := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(shared, "else"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{own: "Signature: 8a477f597d28d172789f06885d6f1d75\n", shared: ""} {
		s := open(t, filepath.Join(t.TempDir(), "weft.db"), bolt.Options{Witness: filepath.Join(dir, "head")})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if tag, _ := os.ReadFile(filepath.Join(dir, "CACHEDIR.TAG")); string(tag) != want {
			t.Errorf("%s: %q, want %q", dir, tag, want)
		}
	}
}
