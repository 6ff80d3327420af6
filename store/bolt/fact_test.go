package bolt_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"path/filepath"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/bolt"
	"github.com/weft-hpc/weft/store/record"
	"github.com/weft-hpc/weft/store/storetest"
)

// laterFact is in a record of a later release, behind its fields.
const laterFact = "\x63\x03new"

// laterExport is an export of records by a release that has added a fact to each.
func laterExport(t *testing.T, records ...engine.Record) []byte {
	out := []byte("weft store export 1\n")
	for _, r := range records {
		b, err := record.Append(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		b[1] |= 0x80
		b = binary.BigEndian.AppendUint32(append(b, laterFact...), uint32(len(laterFact)))
		out = append(binary.AppendUvarint(out, uint64(len(b))), b...)
	}
	out = binary.AppendUvarint(append(out, 0), uint64(len(records)))
	sum := sha256.Sum256(out)
	return append(out, sum[:]...)
}

// What a later release wrote stays in a store that this one takes over, changes and exports.
func TestFactsOfALaterReleaseStay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weft.db")
	later := laterExport(t, meta(1), engine.Node{Name: "n1"}, storetest.Job(1),
		engine.Transition{Serial: 1, State: engine.Active}, engine.Join{Serial: 1, Node: "n1"})
	if err := restore(path, bytes.NewReader(later), time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	s := open(t, path, bolt.Options{})
	var batch []engine.Record
	for _, r := range all(t, s) {
		switch r := r.(type) {
		case engine.Node:
			r.Drained = "a fan"
			batch = append(batch, r)
		case engine.Transition:
			r.State = engine.Draining
			batch = append(batch, r)
		case engine.Join:
			r.Clean = true
			batch = append(batch, r)
		case engine.Meta:
			r.Head.Revision++
			batch = append(batch, r)
		}
	}
	commit(t, s, batch...)
	shut(t, s)
	s = open(t, path, bolt.Options{})
	same(t, s, []engine.Record{batch[0], batch[1], storetest.Job(1), batch[2], batch[3]})
	facts := func() int {
		var out bytes.Buffer
		if err := s.Export(t.Context(), &out); err != nil {
			t.Fatal(err)
		}
		return bytes.Count(out.Bytes(), []byte(laterFact))
	}
	if n := facts(); n != 5 {
		t.Errorf("%d of 5 records still have the fact of a later release", n)
	}
	// A slot that was emptied is a new record's.
	next := batch[0].(engine.Meta)
	next.Head.Revision++
	commit(t, s, next, engine.Delete{At: storetest.Job(1).Slot()})
	next.Head.Revision++
	commit(t, s, next, storetest.Job(1), batch[2], batch[3])
	if n := facts(); n != 2 {
		t.Errorf("%d records have the fact of a later release, not the Meta and the Node alone", n)
	}
}
