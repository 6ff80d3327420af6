package allocator

import "github.com/weft-hpc/weft/core"

// link puts v at the end of the pool's queue of returned VNIs.
func (a *Allocator) link(p *pool, v core.VNI, s *slot) {
	s.older, s.newer = p.newest, 0
	if p.newest != 0 {
		a.slot(p.newest).newer = v
	} else {
		p.oldest = v
	}
	p.newest = v
}

// unlink takes s out of the pool's queue, wherever it stands.
func (a *Allocator) unlink(p *pool, s *slot) {
	if s.older != 0 {
		a.slot(s.older).newer = s.newer
	} else {
		p.oldest = s.newer
	}
	if s.newer != 0 {
		a.slot(s.newer).older = s.older
	} else {
		p.newest = s.older
	}
	s.older, s.newer = 0, 0
}
