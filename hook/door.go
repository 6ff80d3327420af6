package hook

import (
	"sync"

	"github.com/weft-hpc/weft/core"
)

// door counts who is in.
type door struct {
	mu     sync.Mutex
	bounds Bounds
	all    int
	of     map[uint32]int
}

// enter lets uid in, or says why not.
func (d *door) enter(uid uint32) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	room := d.bounds.Connections
	if uid != 0 {
		room -= room / 8
		if d.bounds.PerUser > 0 && d.of[uid] >= d.bounds.PerUser {
			return core.Errorf(core.Overloaded, "uid %d: it has %d calls open here and may have no more", uid, d.of[uid]).
				WithMend("wait for one of them to end")
		}
	}
	if d.all >= room {
		return core.Errorf(core.Overloaded, "calls: %d are open here and there may be no more", d.all)
	}
	d.all++
	d.of[uid]++
	return nil
}

// leave is the end of an enter.
func (d *door) leave(uid uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all--
	if d.of[uid]--; d.of[uid] == 0 {
		delete(d.of, uid)
	}
}

// inside is how many are in.
func (d *door) inside() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.all
}
