package backup_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/backup"
	"github.com/weft-hpc/weft/store/record"
	"github.com/weft-hpc/weft/store/storetest"
)

// records are some of a store, as bytes.
func records(t testing.TB) (out [][]byte) {
	list := []engine.Record{
		engine.Meta{Head: core.Head{Store: "a", Epoch: 4, Revision: 9}, Serial: 2, Without: []string{"n9"}},
		engine.Node{Name: "n1"}, storetest.Job(1), storetest.Job(2),
	}
	for _, r := range list {
		b, err := record.Append(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

// written is a backup of records.
func written(t testing.TB, records [][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	err := backup.Write(&out, func(put func([]byte) error) error {
		for _, r := range records {
			if err := put(r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// read gives the records of a backup.
func read(r io.Reader) (out [][]byte, err error) {
	err = backup.Read("b", r, func(_ engine.Record, raw []byte) error {
		out = append(out, bytes.Clone(raw))
		return nil
	})
	return out, err
}

func TestTheRecordsOfABackup(t *testing.T) {
	t.Parallel()
	want := records(t)
	for _, n := range []int{0, 1, len(want)} {
		got, err := read(iotest.OneByteReader(bytes.NewReader(written(t, want[:n]))))
		if err != nil || len(got) != n || n > 0 && !bytes.Equal(bytes.Join(got, nil), bytes.Join(want[:n], nil)) {
			t.Errorf("%d records: got %d, %v", n, len(got), err)
		}
	}
}

// Each of these is refused, with a line that names the backup, and a remedy.
func TestWhatIsNoBackup(t *testing.T) {
	t.Parallel()
	good := written(t, records(t))
	changed := func(at int) []byte {
		b := bytes.Clone(good)
		b[at] ^= 1
		return b
	}
	foreign := append([]byte{record.Version + 1}, records(t)[1][1:]...)
	for name, c := range map[string]struct {
		b    []byte
		want core.Reason
		says string
	}{
		"nothing":            {nil, core.StoreCorrupt, "it ends too early"},
		"no backup":          {[]byte("this is no backup of anything"), core.StoreCorrupt, "it is not a backup of a store"},
		"a long line":        {bytes.Repeat(good[:10], 1<<15), core.StoreCorrupt, "it is not a backup of a store"},
		"newer":              {append([]byte("weft store export 2\n"), good[20:]...), core.StoreNewer, "it is of version 2"},
		"cut in the line":    {good[:10], core.StoreCorrupt, "it ends too early"},
		"cut behind it":      {good[:20], core.StoreCorrupt, "it ends too early"},
		"cut":                {good[:len(good)/2], core.StoreCorrupt, "it ends too early"},
		"cut at the end":     {good[:len(good)-1], core.StoreCorrupt, "it ends too early"},
		"too long":           {append(bytes.Clone(good), 0), core.StoreCorrupt, "it goes on after its end"},
		"a changed checksum": {changed(len(good) - 1), core.StoreCorrupt, "it does not match its checksum"},
		"a changed count":    {changed(len(good) - 33), core.StoreCorrupt, "it does not match its checksum"},
		"a record is newer":  {written(t, [][]byte{foreign}), core.StoreNewer, "record 1: record of version 2"},
		"a huge length": {
			append([]byte("weft store export 1\n"), 0xff, 0xff, 0xff, 0xff, 0x7f), core.StoreCorrupt, "is said to have",
		},
		"an endless number": {
			append([]byte("weft store export 1\n"), bytes.Repeat([]byte{0xff}, 20)...), core.StoreCorrupt, "is too large",
		},
	} {
		_, err := read(bytes.NewReader(c.b))
		e := core.AsError(err)
		if e == nil || e.Reason != c.want || !strings.HasPrefix(e.What, "backup b: ") || !strings.Contains(e.What, c.says) ||
			e.Remedy == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for at := range good {
		if _, err := read(bytes.NewReader(changed(at))); err == nil {
			t.Errorf("byte %d of %d can be changed", at, len(good))
		}
	}
}

// A source and a destination that fail say so, each in its own words.
func TestABackupCannotBeReadOrWritten(t *testing.T) {
	t.Parallel()
	good := written(t, records(t))
	bad := &core.Error{Reason: core.ServerAway, What: "the server broke off"}
	for _, n := range []int{0, 5, 30, len(good)} {
		_, err := read(io.MultiReader(bytes.NewReader(good[:n]), iotest.ErrReader(bad)))
		if core.ReasonOf(err) != core.ServerAway || err.Error() != bad.What {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
	_, err := read(io.MultiReader(bytes.NewReader(good[:30]), iotest.ErrReader(syscall.EIO)))
	if core.ReasonOf(err) != core.StoreFailed || !errors.Is(err, syscall.EIO) {
		t.Errorf("got %v", err)
	}
	for room := range len(good) {
		err := backup.Write(&full{room}, func(put func([]byte) error) (err error) {
			for _, r := range records(t) {
				err = cmp.Or(err, put(r))
			}
			return err
		})
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("with room for %d of %d bytes: %v", room, len(good), err)
		}
	}
}

// full is a disk with room for some bytes.
type full struct{ room int }

func (f *full) Write(p []byte) (int, error) {
	n := min(len(p), f.room)
	if f.room -= n; n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

// A restored store is another one, which waits for every node.
func TestRestore(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 27, 3, 0, 0, 0, time.UTC)
	all := records(t)
	var got [][]byte
	put := func(rec []byte) error { got = append(got, bytes.Clone(rec)); return nil }
	if err := backup.Restore("b", bytes.NewReader(written(t, all)), now, put); err != nil {
		t.Fatal(err)
	}
	r, err := new(record.Decoder).Decode(got[len(all)])
	if err != nil || !bytes.Equal(bytes.Join(got[:len(all)], nil), bytes.Join(all, nil)) {
		t.Fatalf("%d records, %v", len(got), err)
	}
	m := r.(engine.Meta)
	if m.Head.Store == "a" || m.Head.Store == "" || m.Head.Epoch != 4 || m.Head.Revision != 10 || m.Serial != 2 ||
		!m.Recovering.Equal(now) || m.Without != nil {
		t.Errorf("%+v", m)
	}
	no := errors.New("no")
	err = backup.Restore("b", bytes.NewReader(written(t, all)), now, func([]byte) error { return no })
	if !errors.Is(err, no) {
		t.Errorf("got %v", err)
	}
}

// FuzzRead gives a reader any bytes: it refuses them, or has the records of the one backup that is written so.
func FuzzRead(f *testing.F) {
	good := written(f, records(f))
	for _, n := range []int{0, 10, 20, 60, len(good) - 33, len(good)} {
		f.Add(good[:n])
	}
	f.Add([]byte("weft store export 01\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := read(bytes.NewReader(b))
		if err == nil {
			again, err := read(bytes.NewReader(written(t, got)))
			if err != nil || fmt.Sprint(again) != fmt.Sprint(got) {
				t.Errorf("it is not read again: %v", err)
			}
			return
		}
		switch core.ReasonOf(err) {
		case core.StoreCorrupt, core.StoreNewer:
		default:
			t.Error(err)
		}
	})
}
