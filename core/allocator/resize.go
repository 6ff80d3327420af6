package allocator

import (
	"cmp"
	"slices"

	"github.com/weft-hpc/weft/core"
)

// Resize replaces the pools, all or none: on an error nothing has changed. Every hold stays: a held VNI that moved to another pool counts there, and one
// that is in no pool any more stays held and is not given until its last hold is given up, even if a later Resize brings it back.
func (a *Allocator) Resize(pools []Pool) error {
	if err := check(pools); err != nil {
		return err
	}
	b := &Allocator{byName: make(map[string]*pool, len(pools)), away: map[core.VNI]mark{}, clock: a.clock}
	b.span(pools)
	for v, m := range a.marks {
		if s := b.slot(v); s != nil {
			s.mark = m
		} else {
			b.away[v] = m
		}
	}
	for i := range pools {
		b.add(pools[i], a.byName[pools[i].Name])
	}
	*a = *b
	return nil
}

// marks goes through all that is known of VNIs.
func (a *Allocator) marks(yield func(core.VNI, mark) bool) {
	for i := range a.slots {
		if m := a.slots[i].mark; m != (mark{}) && !yield(a.base+core.VNI(i), m) {
			return
		}
	}
	for v, m := range a.away {
		if !yield(v, m) {
			return
		}
	}
}

// span makes slots from the lowest to the highest VNI of the pools.
func (a *Allocator) span(pools []Pool) {
	low, high := last+1, 0
	for _, p := range pools {
		for _, r := range p.Ranges {
			low, high = min(low, int(r.First)), max(high, int(r.Last))
		}
	}
	if low <= high {
		a.base, a.slots = core.VNI(low), make([]slot, high-low+1)
	}
}

// add makes the pool out of the slots, which are marked already. It goes on where the pool of its name stood.
func (a *Allocator) add(given Pool, was *pool) {
	p := &pool{name: given.Name, start: last, size: given.Size()}
	high := core.VNI(0)
	for _, r := range given.Ranges {
		p.start, high = min(p.start, r.First), max(high, r.Last)
	}
	p.unused = make(bitmap, p.at(high)>>6+1)
	if was != nil && p.at(was.cursor) >= 0 && was.cursor <= high {
		p.cursor = was.cursor
	}
	a.pools = append(a.pools, p)
	a.byName[p.name] = p

	var back []core.VNI
	for _, r := range given.Ranges {
		for i := int(r.First); i <= int(r.Last); i++ {
			v := core.VNI(i)
			if v.IsDefault() {
				continue
			}
			s := a.slot(v)
			s.pool = uint16(len(a.pools))
			if s.holds > 0 {
				continue
			}
			p.free++
			if s.returned == 0 {
				p.fresh++
				p.unused.set(p.at(v))
			} else {
				back = append(back, v)
			}
		}
	}
	slices.SortFunc(back, func(v, w core.VNI) int { return cmp.Compare(a.slot(v).returned, a.slot(w).returned) })
	for _, v := range back {
		a.link(p, v, a.slot(v))
	}
}

// check refuses pools that share a name or a VNI, and those with nothing to give.
func check(pools []Pool) error {
	type piece struct {
		Range
		pool string
	}
	var pieces []piece
	names := make(map[string]bool, len(pools))
	for _, p := range pools {
		if p.Name == "" {
			return core.Errorf(core.BadConfig, "pool %q: it has no name", p.Name)
		}
		if names[p.Name] {
			return core.Errorf(core.BadConfig, "pool %q: two pools have this name", core.Clip(p.Name))
		}
		names[p.Name] = true
		if len(p.Ranges) > maxRanges {
			return core.Errorf(core.BadConfig, "pool %q: %d ranges are more than the %d allowed", core.Clip(p.Name), len(p.Ranges), maxRanges)
		}
		for _, r := range p.Ranges {
			if r.First == 0 || r.Last < r.First {
				return core.Errorf(core.BadConfig, "pool %q: VNI range %v: VNIs go from 1 to 65535, the lower first", core.Clip(p.Name), r)
			}
			pieces = append(pieces, piece{r, p.Name})
		}
		if p.Size() == 0 {
			return core.Errorf(core.BadConfig, "pool %q: it has no VNI to give: 1 and 10 belong to the default service", core.Clip(p.Name)).
				WithRemedy(`give it a range, such as vnis = "1024-65535"`)
		}
	}
	slices.SortFunc(pieces, func(a, b piece) int { return byFirst(a.Range, b.Range) })
	for i := 1; i < len(pieces); i++ {
		p, q := pieces[i-1], pieces[i]
		switch {
		case q.First > p.Last:
		case p.pool == q.pool:
			return core.Errorf(core.BadConfig, "pool %q: its VNI ranges %v and %v overlap", core.Clip(p.pool), p.Range, q.Range)
		default:
			return core.Errorf(core.BadConfig, "pools %q and %q: their VNI ranges %v and %v overlap", core.Clip(p.pool), core.Clip(q.pool), p.Range, q.Range).
				WithRemedy("a VNI can belong to one pool only")
		}
	}
	return nil
}
