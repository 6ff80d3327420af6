package history

import (
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/allocator"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/node"
)

// maxForks is how many unknown incarnations one node may show to the engine, which then takes the node out instead.
const maxForks = 3

// fork has another server work for a while on a copy of the store, perhaps an older one, while this server goes on.
// One node reaches the other server and comes back.
func (w *world) fork(b *box) {
	s := w.srv
	if s.store.Head().Store == "" || s.imported != nil || !b.agent.up || w.forks == maxForks {
		return
	}
	w.forks++
	if l := b.agent.link; l != nil {
		w.unlink(l)
	}
	from := s.store
	if len(s.snaps) > 0 && w.odds(500) {
		from = s.snaps[w.rng.IntN(len(s.snaps))]
	}
	alloc, err := allocator.New([]allocator.Pool{w.pool})
	if err != nil {
		panic(err)
	}
	s.proc++
	start := engine.Start{Incarnation: uint64(s.proc), Witness: from.Head()}
	other, _ := engine.New(w.cfg, alloc, loadAll(from), start, core.Moment{Uptime: w.now, Wall: w.wall()})
	for range 1 + w.rng.IntN(200) {
		other.Seal()
	}
	w.say("%s: another server orders it, on a copy of the store of %v: %v", b.name, from.Head(), other.Head())
	b.input(node.Ordered{Orders: core.Orders{Head: other.Head()}})
}
