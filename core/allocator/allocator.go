// Package allocator gives VNIs out of named pools and takes them back, reusing each as late as it can.
//
// A pool first gives the VNIs that it never gave, going round from where it stands (next fit); then those that came back, the one free the longest
// first. So a VNI that came back is not given again before every other VNI that was free then. What a resize leaves outside every pool stays held, and
// is not given when a later resize brings it back, until its last hold is given up.
//
// An Allocator is not safe for concurrent use: its owner is the server's one writer.
package allocator

import "github.com/weft-hpc/weft/core"

// Allocator holds the pools of a system and which of their VNIs are taken. The zero value has no pool; use New.
type Allocator struct {
	pools  []*pool
	byName map[string]*pool
	base   core.VNI // VNI of slots[0]
	slots  []slot   // from the lowest to the highest VNI of all pools
	away   map[core.VNI]mark
	clock  uint64 // counts releases: the order in which VNIs came back
}

// slot is what is known of a VNI between the lowest and the highest of the pools.
type slot struct {
	mark
	older, newer core.VNI // neighbours in the pool's queue of returned VNIs; 0: none
	pool         uint16   // index in pools plus 1; 0: in none
}

// mark is what outlives a resize: how often a VNI is held, and when it last came back (0: never).
type mark struct {
	returned uint64
	holds    uint32
}

// New makes an allocator with nothing taken. Pools may not share a VNI or a name, and each must have one to give.
func New(pools []Pool) (*Allocator, error) {
	a := &Allocator{}
	if err := a.Resize(pools); err != nil {
		return nil, err
	}
	return a, nil
}

// Take takes a VNI from the pool and holds it once. core.PoolEmpty says how many the pool has and how many are in use.
func (a *Allocator) Take(name string) (core.VNI, error) {
	p := a.byName[name]
	switch {
	case p == nil:
		return 0, core.Errorf(core.NotThere, "pool %q: no pool has this name", core.Clip(name)).
			WithRemedy("name a pool of config.hcl in the policy")
	case p.free == 0:
		return 0, core.Errorf(core.PoolEmpty, "pool %q: no VNI is free: it has %d and %s in use", name, p.size, core.Are(p.size))
	}
	v := p.oldest
	if p.fresh > 0 {
		v = p.next()
	}
	a.hold(p, v)
	return v, nil
}

// Hold holds v once more, whoever holds it already. It is how reservations are loaded and how services of unknown origin keep their VNIs. V may
// lie outside every pool, and is then held for the day that a resize brings it back. The pool that has v goes on behind v,
// so that after a restart it does not begin with what was given last. VNI 0 is none and is not held.
func (a *Allocator) Hold(v core.VNI) {
	s := a.slot(v)
	switch {
	case v == 0:
	case s == nil:
		m := a.away[v]
		m.holds++
		a.away[v] = m
	case s.pool == 0 || s.holds > 0:
		s.holds++
	default:
		a.hold(a.pools[s.pool-1], v)
	}
}

// hold takes v, which is free and in p.
func (a *Allocator) hold(p *pool, v core.VNI) {
	s := a.slot(v)
	if s.returned == 0 {
		p.unused.clear(p.at(v))
		p.fresh--
		p.cursor = v
	} else {
		a.unlink(p, s)
	}
	p.free--
	s.holds++
}

// Give gives up one hold of v; after the last, v is free again and the last in line. Giving what is not held changes nothing.
func (a *Allocator) Give(v core.VNI) {
	s := a.slot(v)
	if s == nil {
		m, ok := a.away[v]
		if !ok || m.holds == 0 {
			return
		}
		if m.holds--; m.holds == 0 {
			a.clock++
			m.returned = a.clock
		}
		a.away[v] = m
		return
	}
	if s.holds == 0 {
		return
	}
	if s.holds--; s.holds > 0 {
		return
	}
	a.clock++
	s.returned = a.clock
	if s.pool > 0 {
		p := a.pools[s.pool-1]
		p.free++
		a.link(p, v, s)
	}
}

// slot of v; nil outside the span of the pools.
func (a *Allocator) slot(v core.VNI) *slot {
	if i := int(v) - int(a.base); i >= 0 && i < len(a.slots) {
		return &a.slots[i]
	}
	return nil
}
