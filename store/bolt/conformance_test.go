package storetest

import (
	"context"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/memory"
)

// Opener opens the one store of a test, empty the first time and afterwards as it was left.
type Opener func(t rapid.TB) engine.Store

// Run compares a store with memory's through random commits, some of them refused, and random restarts. fresh gives a new store's Opener.
func Run(t *testing.T, fresh func() Opener) {
	rapid.Check(t, func(t *rapid.T) {
		open := fresh()
		m := &pair{t: t, open: open, store: open(t), model: memory.New()}
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
	open     Opener
	store    engine.Store
	model    *memory.Store
	revision uint64
}

// batch draws records in few slots, so that they meet.
func batch(t *rapid.T) []engine.Record {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) engine.Record {
		r := placed(t, Record(t))
		if at := r.Slot(); at.Table != engine.TableMeta && rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
			return engine.Delete{At: at}
		}
		return r
	}), 0, 6).Draw(t, "batch")
}

// placed moves a record to a slot of few.
func placed(t *rapid.T, r engine.Record) engine.Record {
	v := reflect.New(reflect.TypeOf(r)).Elem()
	v.Set(reflect.ValueOf(r))
	if f := v.FieldByName("Serial"); f.IsValid() {
		f.SetUint(rapid.SampledFrom([]uint64{0, 1, 2, 255, 256, 1 << 40}).Draw(t, "serial"))
	}
	for _, name := range []string{"Name", "Node", "Hash"} {
		if f := v.FieldByName(name); f.IsValid() {
			f.SetString(rapid.SampledFrom([]string{"", "a", "b", "ab"}).Draw(t, "name"))
		}
	}
	return v.Interface().(engine.Record)
}

// sealed ends a batch with the store's Meta.
func (m *pair) sealed(t *rapid.T, revision uint64) []engine.Record {
	var out []engine.Record
	for _, r := range batch(t) {
		if _, ok := r.(engine.Meta); !ok {
			out = append(out, r)
		}
	}
	var meta engine.Meta
	Fill(&meta, Drawn{t})
	meta.Head = core.Head{Store: "this", Epoch: 1, Revision: revision}
	at := rapid.IntRange(0, len(out)).Draw(t, "at")
	return append(out[:at:at], append([]engine.Record{meta}, out[at:]...)...)
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
	m.store = m.open(t)
}

func (m *pair) same(t *rapid.T) {
	if d := cmp.Diff(All(t, m.model), All(t, m.store), cmpopts.IgnoreUnexported(core.Error{})); d != "" {
		t.Fatalf("the store has other records than the model: %s", d)
	}
}

// All loads every record.
func All(t rapid.TB, s engine.Store) []engine.Record {
	var all []engine.Record
	if err := s.Load(context.Background(), func(r engine.Record) error { all = append(all, r); return nil }); err != nil {
		t.Fatalf("Load: %v", err)
	}
	return all
}
