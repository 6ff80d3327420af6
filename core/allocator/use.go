package allocator

import "github.com/weft-hpc/weft/core"

// Use is how many VNIs of each pool are held. Every pool has an entry.
func (a *Allocator) Use() map[string]int {
	out := make(map[string]int, len(a.pools))
	for _, p := range a.pools {
		out[p.name] = p.size - p.free
	}
	return out
}

// Size is how many VNIs the pool can give when nothing is held; 0 for a pool that does not exist. 1 and 10 do not count.
func (a *Allocator) Size(name string) int {
	if p := a.byName[name]; p != nil {
		return p.size
	}
	return 0
}

// Free is how many VNIs the pool can give now; 0 for a pool that does not exist.
func (a *Allocator) Free(name string) int {
	if p := a.byName[name]; p != nil {
		return p.free
	}
	return 0
}

// Holds is how often v is held, in a pool or outside.
func (a *Allocator) Holds(v core.VNI) int {
	if s := a.slot(v); s != nil {
		return int(s.holds)
	}
	return int(a.away[v].holds)
}

// PoolOf is the pool that v belongs to; false for 1, 10 and what lies outside every pool.
func (a *Allocator) PoolOf(v core.VNI) (string, bool) {
	s := a.slot(v)
	if s == nil || s.pool == 0 {
		return "", false
	}
	return a.pools[s.pool-1].name, true
}

// Outside lists the VNIs in ascending order that are held and lie outside every pool.
func (a *Allocator) Outside() []core.VNI {
	var out []core.VNI
	for v := 1; v <= last; v++ {
		if _, in := a.PoolOf(core.VNI(v)); !in && a.Holds(core.VNI(v)) > 0 {
			out = append(out, core.VNI(v))
		}
	}
	return out
}
