package bolt

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/dev/fulltest"
)

// The files that a release mark keeps, packed by gzip.
const (
	storeFile  = "store"
	ledgerFile = "ledger"
)

// kept is a record with its type.
type kept struct {
	Type   string
	Record any
}

// TestReleasedFiles opens the store and the ledger that each release mark wrote, and reads the same records.
// 2026-11-29.txt is of a commit before the ledger had a seal.
func TestReleasedFiles(t *testing.T) {
	r := fulltest.ReadReleased(t)
	r.Check(storeFile, func(packed []byte) (any, error) { return readStore(t, unpack(t, packed)) })
	r.Check(ledgerFile, func(packed []byte) (any, error) { return readLedger(t, unpack(t, packed)) })
	if r.Making() {
		path := filepath.Join(t.TempDir(), "new")
		writeStore(t, path)
		records, err := readStore(t, path)
		must(t, err)
		r.Make(storeFile, pack(t, path), records)
		must(t, os.Remove(path))
		writeLedger(t, path)
		records, err = readLedger(t, path)
		must(t, err)
		r.Make(ledgerFile, pack(t, path), records)
	}
	r.Done()
}

// writeStore makes a store with a record of each table, in which no field is zero.
func writeStore(t *testing.T, path string) {
	t.Helper()
	s, err := Open(path, Options{})
	must(t, err)
	job := fulltest.Value[engine.Reservation]()
	must(t, s.Commit(t.Context(), []engine.Record{
		fulltest.Value[engine.Meta](), fulltest.Value[engine.Text](), fulltest.Value[engine.Node](), job,
		fulltest.Value[engine.Transition](), fulltest.Value[engine.Join](), fulltest.Value[engine.Tombstone](),
	}))
	must(t, s.Close())
}

func readStore(t *testing.T, path string) (all []kept, err error) {
	s, err := Open(path, Options{})
	if err != nil {
		return nil, err
	}
	err = s.Load(t.Context(), func(r engine.Record) error {
		all = append(all, kept{fmt.Sprintf("%T", r), r})
		return nil
	})
	return all, errors.Join(err, s.Close())
}

// writeLedger makes a ledger with a record of each kind, in which no field is zero.
func writeLedger(t *testing.T, path string) {
	t.Helper()
	l, err := OpenLedger(path)
	must(t, err)
	must(t, l.Commit(t.Context(), []node.Record{
		fulltest.Value[node.Entry](), fulltest.Value[node.Tombstone](), fulltest.Value[node.Seen](),
		fulltest.Value[node.Step](),
	}))
	must(t, l.Close())
}

func readLedger(t *testing.T, path string) (all []kept, err error) {
	l, err := OpenLedger(path)
	if err != nil {
		return nil, err
	}
	err = l.Load(t.Context(), func(r node.Record) error {
		all = append(all, kept{fmt.Sprintf("%T", r), r})
		return nil
	})
	return all, errors.Join(err, l.Close())
}

func pack(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	must(t, err)
	_, err = z.Write(text)
	must(t, err)
	must(t, z.Close())
	return packed.Bytes()
}

func unpack(t *testing.T, packed []byte) (path string) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(packed))
	must(t, err)
	text, err := io.ReadAll(z)
	must(t, err)
	path = filepath.Join(t.TempDir(), "old.db")
	must(t, os.WriteFile(path, text, 0o600))
	return path
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
