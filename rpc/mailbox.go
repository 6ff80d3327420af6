package rpc

import (
	"sync"

	"github.com/weft-hpc/weft/core"
)

// mailbox holds the orders that wait to be sent to one node. An empty one costs next to nothing: a system has one for each of its nodes, and hardly ever does
// an order wait.
type mailbox struct {
	bell chan struct{} // holds one: something waits, or it was closed

	mu     sync.Mutex
	wait   []core.Orders
	closed bool
}

func newMailbox() *mailbox { return &mailbox{bell: make(chan struct{}, 1)} }

// put reports false when most orders wait already. What comes after the end is dropped.
func (m *mailbox) put(o core.Orders, most int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed:
		return true
	case len(m.wait) >= most:
		return false
	}
	m.wait = append(m.wait, o)
	m.ring()
	return true
}

func (m *mailbox) ring() {
	select {
	case m.bell <- struct{}{}:
	default:
	}
}

// close ends it: what waits is still taken.
func (m *mailbox) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.ring()
}

// take gives all that waits, and whether nothing more will.
func (m *mailbox) take() (orders []core.Orders, closed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	orders, m.wait = m.wait, nil
	return orders, m.closed
}
