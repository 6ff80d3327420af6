package allocator

import "github.com/weft-hpc/weft/core"

// block finds the free aligned block of n VNIs whose most recently returned VNI returned first; among blocks never given, the next behind the cursor.
func (a *Allocator) block(p *pool, n int) (core.VNI, bool) {
	if n > last {
		return 0, false
	}
	lowest := (int(p.start) + n - 1) / n * n
	highest := int(p.start) + len(p.open)<<6 - n
	if highest < lowest {
		return 0, false
	}
	count := (highest-lowest)/n + 1
	skip := max(int(p.cursor)-lowest+n, 0) / n % count
	best, bestAge := -1, uint64(0)
	for k := range count {
		first := lowest + (k+skip)%count*n
		if !p.full(first, n) {
			continue
		}
		age := a.age(first, n)
		if age == 0 {
			return core.VNI(first), true
		}
		if best < 0 || age < bestAge {
			best, bestAge = first, age
		}
	}
	return core.VNI(max(best, 0)), best >= 0
}

// full reports whether the n VNIs from first on are all free.
func (p *pool) full(first, n int) bool { return p.open.full(first-int(p.start), n) }

// age is when the last of the n VNIs from first on returned; 0 when none was ever given.
func (a *Allocator) age(first, n int) uint64 {
	newest := uint64(0)
	for i := range n {
		newest = max(newest, a.slots[first+i-int(a.base)].returned)
	}
	return newest
}
