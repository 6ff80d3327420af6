package allocator

import (
	"container/list"
	"slices"

	"github.com/weft-hpc/weft/core"
)

// Pool is a named set of VNIs. The default VNIs 1 and 10 are never given, even from inside a range.
type Pool struct {
	Name   string
	Ranges []Range
}

// Size is how many VNIs the pool can give when nothing is held. 1 and 10 do not count.
func (p Pool) Size() int {
	size := 0
	for _, r := range p.Ranges {
		size += int(r.Last) - int(r.First) + 1
		for _, v := range core.DefaultVNIs {
			if r.First <= v && v <= r.Last {
				size--
			}
		}
	}
	return size
}

// Contains reports whether v lies in the pool's ranges.
func (p Pool) Contains(v core.VNI) bool {
	return slices.ContainsFunc(p.Ranges, func(r Range) bool { return r.First <= v && v <= r.Last })
}

// Sizes are how many VNIs each of pools has.
func Sizes(pools []Pool) map[string]int {
	out := make(map[string]int, len(pools))
	for _, p := range pools {
		out[p.Name] = p.Size()
	}
	return out
}

// pool is a Pool at work. Its lists hold the slots of its free VNIs.
type pool struct {
	name     string
	size     int           // VNIs it can give in all
	fresh    list.List     // never given, by number
	next     *list.Element // the one of them to give next
	cursor   core.VNI      // newest of them that was taken
	returned list.List     // came back, the one free the longest first
}

func (p *pool) free() int { return p.fresh.Len() + p.returned.Len() }

// pass goes on behind s, which is fresh, going round.
func (p *pool) pass(s *slot) {
	p.cursor = s.vni
	if p.next = s.free.Next(); p.next == nil {
		p.next = p.fresh.Front()
	}
}

// Use is how many VNIs of each pool are held. Every pool has an entry.
func (a *Allocator) Use() map[string]int {
	out := make(map[string]int, len(a.pools))
	for _, p := range a.pools {
		out[p.name] = p.size - p.free()
	}
	return out
}
