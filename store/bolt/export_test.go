package bolt

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// A backup has the store as it was between two commits, and holds up no other.
func TestCommitsGoOnBesideABackup(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "weft.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	revision := uint64(0)
	commit := func(node string) {
		revision++
		meta := engine.Meta{Head: core.Head{Store: "a", Epoch: 1, Revision: revision}}
		if err := s.Commit(t.Context(), []engine.Record{meta, engine.Node{Name: node}}); err != nil {
			t.Fatal(err)
		}
	}
	commit("n1")
	err = s.between(func(tx *bbolt.Tx) error {
		commit("n2")
		n := 0
		err := walk(t.Context(), tx, func([]byte) error { n++; return nil })
		if n != 2 {
			t.Errorf("%d records, want the Meta and n1", n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	commit("n3")
	if err := s.between(func(*bbolt.Tx) error { panic("a bad page") }); core.ReasonOf(err) != core.StoreCorrupt {
		t.Errorf("got %v", err)
	}
	if err := s.Export(t.Context(), new(bytes.Buffer)); core.ReasonOf(err) != core.StoreCorrupt {
		t.Errorf("after bbolt panicked: %v", err)
	}
}

func TestBlocks(t *testing.T) {
	var b blocks
	want := bytes.Repeat([]byte("0123456789"), blockSize/4)
	for rest := want; len(rest) > 0; {
		n, err := b.Write(rest[:min(len(rest), 700_001)])
		if err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	var got bytes.Buffer
	if err := b.flush(&got); err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%d bytes, %v", got.Len(), err)
	}
	if b[0] != nil {
		t.Error("a block that was written is kept")
	}
	b = blocks{want}
	no := errors.New("no")
	if err := b.flush(writerFunc(func([]byte) (int, error) { return 0, no })); !errors.Is(err, no) {
		t.Errorf("got %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
