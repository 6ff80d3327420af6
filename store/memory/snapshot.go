package memory

import "github.com/weft-hpc/weft/core"

// Snapshot is a store's content at one moment.
type Snapshot struct{ state state }

// Snapshot is the content now.
func (s *Store) Snapshot() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Snapshot{s.state.clone()}
}

// Restore makes the content that of the Snapshot, as a restored backup does. The zero Snapshot is an empty store's. A
// closed store stays closed.
func (s *Store) Restore(to Snapshot) {
	if to.state.slots == nil {
		to = New().Snapshot()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = to.state.clone()
}

// Clone is another store with the same content, open even where s is closed: a restart.
func (s *Store) Clone() *Store { return &Store{state: s.Snapshot().state} }

// Head is that of the Snapshot's last commit.
func (s Snapshot) Head() core.Head { return s.state.head }
