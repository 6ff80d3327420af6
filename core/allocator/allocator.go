// Package allocator gives VNIs out of named pools and takes them back, reusing each as late as it can.
//
// A pool first gives the VNIs that it never gave, going round from where it stands (next fit); then those that came back, the one free the longest
// first. So a VNI that came back is not given again before every other VNI that was free then. What a resize leaves outside every pool stays held, and
// is not given when a later resize brings it back, until its last hold is given up.
//
// An Allocator is not safe for concurrent use: its owner is the server's one writer.
package allocator

import (
	"fmt"

	"github.com/weft-hpc/weft/core"
)

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

// Sizes are how many VNIs each of pools has; of pools that New refuses, none.
func Sizes(pools []Pool) map[string]int {
	out := map[string]int{}
	a, err := New(pools)
	if err != nil {
		return out
	}
	for _, p := range pools {
		out[p.Name] = a.Size(p.Name)
	}
	return out
}

// Take takes n VNIs from the pool and holds each once. Aligned asks for a block: n must be a power of two, and the VNIs are consecutive from a multiple
// of n (the form that cxil_svc_set_vni_range accepts). It takes all n or none: core.PoolEmpty says how many the pool has and how many are in use.
func (a *Allocator) Take(name string, n int, aligned bool) ([]core.VNI, error) {
	p := a.byName[name]
	if p == nil {
		return nil, core.Errorf(core.NotThere, "pool %q: no pool has this name", core.Clip(name)).WithRemedy("name a pool of config.hcl in the policy")
	}
	if n < 1 {
		return nil, core.Errorf(core.BadCall, "pool %q: %d VNIs are wanted: give a number above 0", name, n)
	}
	if aligned && n&(n-1) != 0 {
		return nil, core.Errorf(core.BadCall, "pool %q: a block of %d VNIs is wanted: its size must be a power of two", name, n)
	}
	if n > p.free {
		return nil, p.empty(n)
	}
	if aligned && n > 1 {
		first, ok := a.block(p, n)
		if !ok {
			return nil, core.Errorf(core.PoolEmpty, "pool %q: no aligned block of %d VNIs is free: it has %d and %d are in use", name, n, p.size, p.size-p.free)
		}
		out := make([]core.VNI, n)
		for i := range out {
			out[i] = first + core.VNI(i)
			a.Hold(name, out[i])
		}
		return out, nil
	}
	out := make([]core.VNI, n)
	for i := range out {
		if p.fresh > 0 {
			out[i] = p.next()
		} else {
			out[i] = p.oldest
		}
		a.hold(p, out[i])
	}
	return out, nil
}

func (p *pool) empty(n int) error {
	want := "no VNI is free"
	if p.free > 0 {
		want = fmt.Sprintf("%d VNIs are wanted and %d are free", n, p.free)
	}
	return core.Errorf(core.PoolEmpty, "pool %q: %s: it has %d and %d are in use", p.name, want, p.size, p.size-p.free)
}

// Hold holds v once more, whoever holds it already. It is how reservations are loaded and how services of unknown origin keep their VNIs. The pool named
// is the one v was taken from; v may lie outside it or outside every pool by now, and is then held for the day that a resize brings it back. The pool
// that has v goes on behind v, so that after a restart it does not begin with what was given last. VNI 0 is none and is not held.
func (a *Allocator) Hold(_ string, v core.VNI) {
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
	p.open.clear(p.at(v))
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
		p.open.set(p.at(v))
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
