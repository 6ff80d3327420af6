// Package memory is an engine.Store in memory: for tests, for histories that crash and roll back, and as the model that other stores are compared with.
package memory

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/record"
)

// Store keeps records as the values they are: what was given to Commit, or came from Load, must not be changed afterwards. Safe for concurrent use. Nothing
// outlives the process.
type Store struct {
	mu     sync.Mutex
	state  state
	closed bool
}

type state struct {
	head  core.Head
	slots map[engine.Slot]engine.Record     // all but joins
	joins map[uint64]map[string]engine.Join // by serial and node, so that a reservation's go without a search
}

func (s state) clone() state {
	joins := make(map[uint64]map[string]engine.Join, len(s.joins))
	for serial, nodes := range s.joins {
		joins[serial] = maps.Clone(nodes)
	}
	return state{s.head, maps.Clone(s.slots), joins}
}

var _ engine.Store = (*Store)(nil)

// New is an empty store.
func New() *Store {
	return &Store{state: state{slots: map[engine.Slot]engine.Record{}, joins: map[uint64]map[string]engine.Join{}}}
}

// Load tells every record in order of table, serial and name. It holds no lock while it tells.
func (s *Store) Load(ctx context.Context, tell func(engine.Record) error) error {
	s.mu.Lock()
	err := s.usable(ctx)
	var all []engine.Record
	if err == nil {
		all = s.state.sorted()
	}
	s.mu.Unlock()
	for _, r := range all {
		if err := tell(r); err != nil {
			return err
		}
	}
	return err
}

// Commit writes all of a batch or, with an error, none of it. See record.Fence for what is refused.
func (s *Store) Commit(ctx context.Context, batch []engine.Record) error {
	if len(batch) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return err
	}
	head, err := record.Fence(s.state.head, batch)
	if err != nil {
		return err
	}
	s.state.head = head
	for _, r := range batch {
		s.put(r)
	}
	return nil
}

// Clone is another store with the same content, open even where s is closed: a restart, or a backup.
func (s *Store) Clone() *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Store{state: s.state.clone()}
}

// Close makes further calls fail. A Clone taken before or after goes on.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// Head is that of the last commit.
func (s *Store) Head() core.Head {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.head
}

func (s *Store) usable(ctx context.Context) error {
	if s.closed {
		return core.Errorf(core.StoreFailed, "store: memory: it is closed")
	}
	if err := ctx.Err(); err != nil {
		return core.Errorf(core.StoreFailed, "store: memory: %w", err)
	}
	return nil
}

func (s *Store) put(r engine.Record) {
	at := r.Slot()
	switch r := r.(type) {
	case engine.Join:
		if s.state.joins[at.Serial] == nil {
			s.state.joins[at.Serial] = map[string]engine.Join{}
		}
		s.state.joins[at.Serial][at.Name] = r
	case engine.Delete:
		switch at.Table {
		case engine.TableJoin:
			delete(s.state.joins[at.Serial], at.Name)
			return
		case engine.TableReservation:
			delete(s.state.slots, engine.Slot{Table: engine.TableTransition, Serial: at.Serial})
			delete(s.state.joins, at.Serial)
		default: // lies alone
		}
		delete(s.state.slots, at)
	default:
		s.state.slots[at] = r
	}
}

func (s state) sorted() []engine.Record {
	all := make([]engine.Record, 0, len(s.slots)+len(s.joins))
	for _, r := range s.slots {
		all = append(all, r)
	}
	for _, nodes := range s.joins {
		for _, j := range nodes {
			all = append(all, j)
		}
	}
	slices.SortFunc(all, func(a, b engine.Record) int { return a.Slot().Compare(b.Slot()) })
	return all
}
