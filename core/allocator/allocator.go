// Package allocator gives VNIs out of named pools and takes them back, reusing each as late as it can.
//
// A pool first gives the VNIs that it never gave, going round from where it stands (next fit); then those that came back, the one free the longest
// first. So a VNI that came back is not given again before every other VNI that was free then. What a resize leaves outside every pool stays held, and
// is not given when a later resize brings it back, until its last hold is given up.
//
// An Allocator is not safe for concurrent use: its owner is the server's one writer.
package allocator

import (
	"container/list"

	"github.com/weft-hpc/weft/core"
)

// Allocator holds the pools of a system and which of their VNIs are taken. The zero value has no pool; use New.
type Allocator struct {
	pools  []*pool
	byName map[string]*pool
	base   core.VNI // VNI of slots[0]
	slots  []slot   // from the lowest to the highest VNI of all pools
	away   map[core.VNI]*slot
	clock  uint64 // counts releases: the order in which VNIs came back
}

// slot is what is known of a VNI. How often it is held, and when it last came back (0: never), outlives a resize.
type slot struct {
	returned uint64
	holds    uint32
	vni      core.VNI
	pool     uint16        // index in pools plus 1; 0: in none
	free     *list.Element // in a list of its pool; nil: it is held, or in no pool
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
	case p.free() == 0:
		return 0, core.Errorf(core.PoolEmpty, "pool %q: no VNI is free: it has %d and %d are in use", name, p.size, p.size)
	}
	at := p.returned.Front()
	if p.fresh.Len() > 0 {
		at = p.next
	}
	s := at.Value.(*slot)
	a.hold(s)
	return s.vni, nil
}

// Hold holds v once more, whoever holds it already. It is how reservations are loaded and how services of unknown origin keep their VNIs. V may
// lie outside every pool, and is then held for the day that a resize brings it back. The pool that has v goes on behind v,
// so that after a restart it does not begin with what was given last. VNI 0 is none and is not held.
func (a *Allocator) Hold(v core.VNI) {
	if v != 0 {
		a.hold(a.known(v))
	}
}

func (a *Allocator) hold(s *slot) {
	s.holds++
	if s.free == nil {
		return
	}
	p := a.pools[s.pool-1]
	if s.returned > 0 {
		p.returned.Remove(s.free)
	} else {
		p.pass(s)
		p.fresh.Remove(s.free)
	}
	s.free = nil
}

// Give gives up one hold of v; after the last, v is free again and the last in line. Giving what is not held changes nothing.
func (a *Allocator) Give(v core.VNI) {
	s := a.slot(v)
	if s == nil || s.holds == 0 {
		return
	}
	if s.holds--; s.holds > 0 {
		return
	}
	a.clock++
	s.returned = a.clock
	if s.pool > 0 {
		s.free = a.pools[s.pool-1].returned.PushBack(s)
	}
}

// slot of v; nil where nothing is known of it.
func (a *Allocator) slot(v core.VNI) *slot {
	if i := int(v) - int(a.base); i >= 0 && i < len(a.slots) {
		return &a.slots[i]
	}
	return a.away[v]
}

// known is the slot of v, made where there is none.
func (a *Allocator) known(v core.VNI) *slot {
	s := a.slot(v)
	if s == nil {
		s = &slot{vni: v}
		a.away[v] = s
	}
	return s
}
