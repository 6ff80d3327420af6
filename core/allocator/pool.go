package allocator

import (
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

// pool is a Pool at work.
type pool struct {
	name           string
	start          core.VNI // VNI of bit 0
	size           int      // VNIs it can give in all
	free           int      // VNIs it can give now
	fresh          int      // of these, how many it never gave
	unused         bitmap   // free and never given
	cursor         core.VNI // newest of the never given that was taken
	oldest, newest core.VNI // ends of the queue of returned VNIs; 0: empty
}

func (p *pool) at(v core.VNI) int { return int(v) - int(p.start) }

// next is the first VNI never given behind the cursor, going round. There is one.
func (p *pool) next() core.VNI {
	i := p.unused.next(max(p.at(p.cursor)+1, 0))
	if i < 0 {
		i = p.unused.next(0)
	}
	return p.start + core.VNI(i)
}

// Use is how many VNIs of each pool are held. Every pool has an entry.
func (a *Allocator) Use() map[string]int {
	out := make(map[string]int, len(a.pools))
	for _, p := range a.pools {
		out[p.name] = p.size - p.free
	}
	return out
}
