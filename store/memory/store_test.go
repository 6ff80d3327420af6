package memory_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/memory"
)

func meta(revision uint64) engine.Meta {
	return engine.Meta{Head: core.Head{Store: "a", Epoch: 1, Revision: revision}}
}

func load(t testing.TB, s engine.Store) []engine.Record {
	t.Helper()
	var all []engine.Record
	if err := s.Load(t.Context(), func(r engine.Record) error { all = append(all, r); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

func commit(t testing.TB, s engine.Store, batch ...engine.Record) {
	t.Helper()
	if err := s.Commit(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
}

func TestLoadTellsInOrder(t *testing.T) {
	t.Parallel()
	s := memory.New()
	want := []engine.Record{
		meta(1),
		engine.Text{Hash: "h", Text: "t"},
		engine.Node{Name: "n1"}, engine.Node{Name: "n2"},
		engine.Reservation{Serial: 9}, engine.Reservation{Serial: 10},
		engine.Transition{Serial: 9, State: engine.Draining},
		engine.Join{Serial: 9, Node: "n2"}, engine.Join{Serial: 10, Node: "n1"}, engine.Join{Serial: 10, Node: "n3"},
		engine.Tombstone{Serial: 3},
	}
	back := make([]engine.Record, 0, len(want))
	for i := range want {
		back = append(back, want[len(want)-1-i])
	}
	commit(t, s, back...)
	if d := cmp.Diff(want, load(t, s)); d != "" {
		t.Error(d)
	}
}

func TestDeleteOfReservationTakesPhaseAndJoins(t *testing.T) {
	t.Parallel()
	s := memory.New()
	for _, n := range []uint64{1, 2} {
		commit(t, s, meta(n), engine.Reservation{Serial: n}, engine.Transition{Serial: n}, engine.Join{Serial: n, Node: "a"}, engine.Join{Serial: n, Node: "b"})
	}
	commit(t, s, meta(3), engine.Delete{At: engine.Reservation{Serial: 1}.Slot()}, engine.Delete{At: engine.Join{Serial: 2, Node: "a"}.Slot()})
	want := []engine.Record{meta(3), engine.Reservation{Serial: 2}, engine.Transition{Serial: 2}, engine.Join{Serial: 2, Node: "b"}}
	if d := cmp.Diff(want, load(t, s)); d != "" {
		t.Error(d)
	}
}

func TestRefusedCommitWritesNothing(t *testing.T) {
	t.Parallel()
	for name, batch := range map[string][]engine.Record{
		"no Meta":         {engine.Node{Name: "x"}},
		"same revision":   {engine.Node{Name: "x"}, meta(5)},
		"older revision":  {engine.Node{Name: "x"}, meta(4)},
		"older epoch":     {engine.Node{Name: "x"}, engine.Meta{Head: core.Head{Store: "a", Epoch: 0, Revision: 9}}},
		"another store":   {engine.Node{Name: "x"}, engine.Meta{Head: core.Head{Store: "b", Epoch: 1, Revision: 9}}},
		"a pointer":       {engine.Node{Name: "x"}, meta(6), &engine.Node{Name: "y"}},
		"nil":             {engine.Node{Name: "x"}, meta(6), nil},
		"delete of Meta":  {engine.Node{Name: "x"}, meta(6), engine.Delete{At: engine.Slot{Table: engine.TableMeta}}},
		"delete nowhere":  {engine.Node{Name: "x"}, meta(6), engine.Delete{}},
		"nameless store":  {engine.Node{Name: "x"}, engine.Meta{Head: core.Head{Epoch: 1, Revision: 9}}},
		"delete far away": {engine.Node{Name: "x"}, meta(6), engine.Delete{At: engine.Slot{Table: 200}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := memory.New()
			commit(t, s, meta(5))
			if err := s.Commit(t.Context(), batch); err == nil {
				t.Error("it was taken")
			}
			if d := cmp.Diff([]engine.Record{meta(5)}, load(t, s)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestClonesAreOfTheirMoment(t *testing.T) {
	t.Parallel()
	s := memory.New()
	var clones []*memory.Store
	var want [][]engine.Record
	keep := func() { clones, want = append(clones, s.Clone()), append(want, load(t, s)) }
	keep()
	for i := range uint64(6) {
		batch := []engine.Record{meta(i + 1), engine.Join{Serial: 7, Node: fmt.Sprint("n", i)}, engine.Reservation{Serial: i}}
		switch i {
		case 3:
			batch = append(batch, engine.Delete{At: engine.Join{Serial: 7, Node: "n1"}.Slot()})
		case 4:
			batch = append(batch, engine.Delete{At: engine.Reservation{Serial: 7}.Slot()})
		}
		commit(t, s, batch...)
		keep()
	}
	for i, clone := range clones {
		other := clone.Clone()
		commit(t, other, meta(100), engine.Join{Serial: 7, Node: "later"})
		if d := cmp.Diff(want[i], load(t, clone)); d != "" {
			t.Errorf("clone %d: %s", i, d)
		}
	}
}

func TestClosedStoreRefuses(t *testing.T) {
	t.Parallel()
	s := memory.New()
	commit(t, s, meta(1))
	_ = s.Close()
	if err := s.Commit(t.Context(), []engine.Record{meta(2)}); !errors.Is(err, core.Unavailable) {
		t.Errorf("Commit: %v", err)
	}
	if err := s.Load(t.Context(), func(engine.Record) error { return nil }); !errors.Is(err, core.Unavailable) {
		t.Errorf("Load: %v", err)
	}
	if d := cmp.Diff([]engine.Record{meta(1)}, load(t, s.Clone())); d != "" {
		t.Error(d)
	}
}
