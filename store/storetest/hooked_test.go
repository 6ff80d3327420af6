package storetest_test

import (
	"errors"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/memory"
	"github.com/weft-hpc/weft/store/storetest"
)

func TestHooked(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	batch := []engine.Record{engine.Meta{Head: core.Head{Store: "a", Epoch: 1, Revision: 1}}}
	s := memory.New()
	count := func() (n int) {
		if err := s.Load(t.Context(), func(engine.Record) error { n++; return nil }); err != nil {
			t.Error(err)
		}
		return n
	}
	h := &storetest.Hooked{Store: s, Before: func([]engine.Record) error { return broken }}
	if err := h.Commit(t.Context(), batch); !errors.Is(err, broken) || count() != 0 {
		t.Errorf("Before: %v, %d records", err, count())
	}
	h.Before, h.After = nil, func([]engine.Record) error { return broken }
	if err := h.Commit(t.Context(), batch); !errors.Is(err, broken) || count() != 1 {
		t.Errorf("After: %v, %d records", err, count())
	}
}
