package listener

import (
	"sync"

	"github.com/weft-hpc/weft/core"
)

// openCalls counts the calls that are open, of all users and of each.
type openCalls struct {
	mu     sync.Mutex
	bounds Bounds
	all    int
	of     map[uint32]int
}

// enter counts a call of uid, or says why it may not be open.
func (o *openCalls) enter(uid uint32) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	room := o.bounds.Connections
	if uid != 0 {
		room -= room / 8
		if o.bounds.PerUser > 0 && o.of[uid] >= o.bounds.PerUser {
			return core.Errorf(core.Overloaded, "uid %d: it has %d calls open here and may have no more", uid, o.of[uid]).
				WithRemedy("wait for one of them to end")
		}
	}
	if o.all >= room {
		return core.Errorf(core.Overloaded, "calls: %d are open here and there may be no more", o.all)
	}
	o.all++
	o.of[uid]++
	return nil
}

// leave is the end of an enter.
func (o *openCalls) leave(uid uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all--
	if o.of[uid]--; o.of[uid] == 0 {
		delete(o.of, uid)
	}
}

// count is how many are open.
func (o *openCalls) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all
}
