package listener

import (
	"sync"

	"github.com/weft-hpc/weft/core"
)

// keeper counts who is in.
type keeper struct {
	mu     sync.Mutex
	bounds Bounds
	all    int
	of     map[uint32]int
}

// enter lets uid in, or says why not.
func (k *keeper) enter(uid uint32) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	room := k.bounds.Connections
	if uid != 0 {
		room -= room / 8
		if k.bounds.PerUser > 0 && k.of[uid] >= k.bounds.PerUser {
			return core.Errorf(core.Overloaded, "uid %d: it has %d calls open here and may have no more", uid, k.of[uid]).
				WithRemedy("wait for one of them to end")
		}
	}
	if k.all >= room {
		return core.Errorf(core.Overloaded, "calls: %d are open here and there may be no more", k.all)
	}
	k.all++
	k.of[uid]++
	return nil
}

// leave is the end of an enter.
func (k *keeper) leave(uid uint32) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all--
	if k.of[uid]--; k.of[uid] == 0 {
		delete(k.of, uid)
	}
}

// inside is how many are in.
func (k *keeper) inside() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.all
}
