package storetest

import (
	"context"
	"fmt"
	"slices"

	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/memory"
)

// Conform compares a store with memory's through random commits, some of them refused, and random restarts. open opens
// the store of a name, which is empty at first.
func Conform(t *testing.T, open func(name string) (engine.Store, error)) {
	t.Helper()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		name := fmt.Sprint(n)
		m := &pair{t: t, reopened: func() (engine.Store, error) { return open(name) }, model: memory.New()}
		m.open()
		defer func() { _ = m.store.Close() }()
		t.Repeat(map[string]func(*rapid.T){
			"commit":  m.commit,
			"refused": m.refused,
			"reopen":  m.reopen,
			"":        m.same,
		})
	})
}

type pair struct {
	t        *rapid.T
	reopened func() (engine.Store, error)
	store    engine.Store
	model    *memory.Store
	revision uint64
}

func (m *pair) open() {
	s, err := m.reopened()
	if err != nil {
		m.t.Fatalf("open: %v", err)
	}
	m.store = s
}

// batch draws records in few slots, so that they meet.
func batch(t *rapid.T) []engine.Record {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) engine.Record {
		r := drawn(t)
		if rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
			return engine.Delete{At: r.Slot()}
		}
		return r
	}), 0, 6).Draw(t, "batch")
}

var (
	serials = rapid.SampledFrom([]uint64{0, 1, 2, 255, 256, 1 << 40})
	names   = rapid.SampledFrom([]string{"", "a", "b", "ab"})
	words   = rapid.OneOf(
		rapid.SampledFrom([]string{"", "a", "jobs", "tioga"}),
		rapid.StringN(60, 70, -1),
		rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "bytes")) }),
	)
)

// drawn is a record of any table but Meta's. store/record tests that a record's bytes have all of its fields.
func drawn(t *rapid.T) engine.Record {
	serial, name, word := serials.Draw(t, "serial"), names.Draw(t, "name"), words.Draw(t, "word")
	switch engine.Table(rapid.Uint8Range(uint8(engine.TableText), uint8(engine.TableTombstone)).Draw(t, "table")) {
	case engine.TableText:
		return engine.Text{Hash: name, Text: word}
	case engine.TableNode:
		return engine.Node{Name: name, Boot: word, Inventory: rapid.SliceOfN(words, 1, 3).Draw(t, "inventory")}
	case engine.TableReservation:
		r := engine.Reservation{Serial: serial}
		r.Job.Name, r.Grant.Deny = word, core.Errorf(core.PoolEmpty, "%s", word)
		return r
	case engine.TableTransition:
		return engine.Transition{Serial: serial, State: engine.Held, Why: word}
	case engine.TableJoin:
		return engine.Join{Serial: serial, Node: name, Boot: word, Clean: rapid.Bool().Draw(t, "clean")}
	case engine.TableMeta, engine.TableTombstone: // a batch has its own Meta
	}
	return engine.Tombstone{Serial: serial, Run: core.Run{Key: core.Key{JobID: core.JobID{Job: word}}}}
}

// sealed ends a batch with the store's Meta.
func (m *pair) sealed(t *rapid.T, revision uint64) []engine.Record {
	out := batch(t)
	own := engine.Meta{Head: core.Head{Store: "a", Epoch: 1, Revision: revision}}
	own.Serial, own.Without = serials.Draw(t, "serial"), rapid.SliceOfN(words, 1, 3).Draw(t, "without")
	return slices.Insert(out, rapid.IntRange(0, len(out)).Draw(t, "at"), engine.Record(own))
}

func (m *pair) commit(t *rapid.T) {
	m.revision += rapid.Uint64Range(1, 3).Draw(t, "step")
	b := m.sealed(t, m.revision)
	if err := m.store.Commit(context.Background(), b); err != nil {
		t.Fatalf("Commit: %v", err)
	}
	if err := m.model.Commit(context.Background(), b); err != nil {
		t.Fatalf("the model's Commit: %v", err)
	}
}

func (m *pair) refused(t *rapid.T) {
	if m.revision == 0 {
		t.Skip("nothing is older than the first commit")
	}
	b := m.sealed(t, rapid.Uint64Range(0, m.revision).Draw(t, "old"))
	if err := m.store.Commit(context.Background(), b); err == nil {
		t.Fatalf("a commit of an old revision was taken")
	}
	if err := m.model.Commit(context.Background(), b); err == nil {
		t.Fatalf("the model took a commit of an old revision")
	}
}

func (m *pair) reopen(t *rapid.T) {
	if err := m.store.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	m.open()
}

func (m *pair) same(t *rapid.T) {
	if d := cmp.Diff(all(t, m.model), all(t, m.store), cmpopts.IgnoreUnexported(core.Error{})); d != "" {
		t.Fatalf("the store has other records than the model: %s", d)
	}
}

// all loads every record.
func all(t *rapid.T, s engine.Store) (found []engine.Record) {
	tell := func(r engine.Record) error { found = append(found, r); return nil }
	if err := s.Load(context.Background(), tell); err != nil {
		t.Fatalf("Load: %v", err)
	}
	return found
}
