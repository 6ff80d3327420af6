package storetest

import (
	"context"

	"github.com/weft-hpc/weft/core/engine"
)

// Hooked is any store with a say around its commits of records, for tests of those who use one. A nil func is not asked.
type Hooked struct {
	engine.Store
	Before func(batch []engine.Record) error // an error refuses the commit: nothing is written
	After  func(batch []engine.Record) error // an error is what the caller gets though all is written, as when the disk's answer is lost
}

// Commit asks Before, commits, and asks After.
func (h *Hooked) Commit(ctx context.Context, batch []engine.Record) error {
	if len(batch) == 0 {
		return h.Store.Commit(ctx, nil)
	}
	if h.Before != nil {
		if err := h.Before(batch); err != nil {
			return err
		}
	}
	if err := h.Store.Commit(ctx, batch); err != nil {
		return err
	}
	if h.After != nil {
		return h.After(batch)
	}
	return nil
}
