package server

import (
	"sync"

	"github.com/weft-hpc/weft/core"
)

// mailbox holds the orders that wait for one session. An empty one costs next to nothing: a system has a session for each of its nodes, and hardly ever
// does more than one order wait.
type mailbox struct {
	bell chan struct{} // holds one: something waits
	mu   sync.Mutex
	wait []core.Orders
}

func newMailbox() mailbox { return mailbox{bell: make(chan struct{}, 1)} }

// put reports false when most orders wait already.
func (m *mailbox) put(o core.Orders, most int) bool {
	m.mu.Lock()
	full := len(m.wait) >= most
	if !full {
		m.wait = append(m.wait, o)
	}
	m.mu.Unlock()
	if full {
		return false
	}
	select {
	case m.bell <- struct{}{}:
	default:
	}
	return true
}

// take gives all that waits.
func (m *mailbox) take() []core.Orders {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := m.wait
	m.wait = nil
	return out
}
