package storetest

import (
	"context"
	"sync"

	"github.com/weft-hpc/weft/core/node"
)

// Ledger is a node.Store that lives as long as its value.
type Ledger struct {
	mu      sync.Mutex
	records map[string]node.Record
}

// Load tells every record, in no order.
func (m *Ledger) Load(_ context.Context, tell func(node.Record) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.records {
		if err := tell(r); err != nil {
			return err
		}
	}
	return nil
}

// Commit keeps all records.
func (m *Ledger) Commit(_ context.Context, records []node.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.records == nil {
		m.records = map[string]node.Record{}
	}
	for _, r := range records {
		if d, ok := r.(node.Delete); ok {
			delete(m.records, d.Of)
		} else {
			m.records[r.Name()] = r
		}
	}
	return nil
}

// Close does nothing.
func (m *Ledger) Close() error { return nil }
