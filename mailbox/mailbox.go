// Package mailbox holds a node's orders between the server, which never waits for a node, and a node that may be slow.
package mailbox

import (
	"context"
	"sync"

	"github.com/weft-hpc/weft/core"
)

// Most is how many orders wait for one node. More end its session, and its next one begins with a full report.
const Most = 256

// Box holds the orders that wait for one node. An empty Box is small: a system has one for each of its nodes, and
// orders hardly ever wait.
type Box struct {
	node string
	full context.CancelCauseFunc
	bell chan struct{} // holds one: an order waits, or the Box is closed

	mu     sync.Mutex
	wait   []core.Orders
	closed bool
}

// New is the Box of a session of node. A full Box ends the session with full.
func New(node string, full context.CancelCauseFunc) *Box {
	return &Box{node: node, full: full, bell: make(chan struct{}, 1)}
}

// Put adds an order. It never waits. A Box that is full or closed drops the order.
func (b *Box) Put(o core.Orders) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
	case len(b.wait) == Most:
		b.full(core.Errorf(core.Overloaded, "node %s: %d orders wait for it", b.node, Most))
	default:
		b.wait = append(b.wait, o)
		b.ring()
	}
}

// Close ends the Box. Deliver still passes on the orders that wait.
func (b *Box) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.ring()
}

func (b *Box) ring() {
	select {
	case b.bell <- struct{}{}:
	default:
	}
}

// Deliver passes each order to the node, until the Box is closed and empty or until to fails.
func (b *Box) Deliver(to func(core.Orders) error) error {
	for range b.bell {
		b.mu.Lock()
		orders, closed := b.wait, b.closed
		b.wait = nil
		b.mu.Unlock()
		for _, o := range orders {
			if err := to(o); err != nil {
				return err
			}
		}
		if closed {
			return nil
		}
	}
	return nil
}
