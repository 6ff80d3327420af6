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

// pool is a Pool at work. Its bitmaps begin at a multiple of 64, so that blocks of up to 64 lie within a word.
type pool struct {
	name           string
	ranges         []Range
	start          core.VNI // VNI of bit 0
	size           int      // VNIs it can give in all
	free           int      // VNIs it can give now
	fresh          int      // of these, how many it never gave
	open           bitmap   // free
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

// Pools are the pools as they were given, in that order.
func (a *Allocator) Pools() []Pool {
	out := make([]Pool, len(a.pools))
	for i, p := range a.pools {
		out[i] = Pool{p.name, slices.Clone(p.ranges)}
	}
	return out
}
