package connection

import (
	"context"

	"github.com/weft-hpc/weft/core"
)

// maxParked is how many calls of one node may wait for another leader. An agent has one, and for a moment a second one
// after it has connected again.
const maxParked = 2

// parking bounds the calls of a node that wait for another leader, each for as long as it likes.
type parking struct {
	core.Authority
	several core.Succession
	bounds  *Bounds
}

// park is to with that bound, where there are several servers.
func (b *Bounds) park(to core.Authority) core.Authority {
	if several, ok := to.(core.Succession); ok {
		return parking{to, several, b}
	}
	return to
}

// Await implements core.Succession.
func (p parking) Await(ctx context.Context, node string, seen core.Head) (core.Head, error) {
	if err := p.bounds.parkOne(node); err != nil {
		return core.Head{}, err
	}
	defer p.bounds.unpark(node)
	return p.several.Await(ctx, node, seen)
}

func (b *Bounds) parkOne(node string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.use(node)
	if u.parked >= maxParked {
		return core.Errorf(core.Overloaded, "node %s: %d of its calls wait for another leader, and no more may",
			node, u.parked).WithRemedy("see whether several agents run with its certificate")
	}
	u.parked++
	return nil
}

func (b *Bounds) unpark(node string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.use(node).parked--
}
