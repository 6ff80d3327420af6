package etcd

import (
	"github.com/weft-hpc/weft/core"
)

// trail is a standby's memory of etcd from one Follow to the next. It is the evidence that the store is the newest.
//
// A restored etcd can have an old leader's key. So the trail counts a leader's head only once it has seen this leader
// write: a commit or a pulse, which compares the head that the leader knows. A leader writes about once a second.
type trail struct {
	at          place
	head, probe int64 // as in news
	newest      core.Head
}

// back reports whether etcd is at a place before one that was seen: it was restored from a copy.
func (t *trail) back(at place) bool {
	if at.revision >= t.at.revision && at.term >= t.at.term {
		return false
	}
	t.at, t.head, t.probe = at, 0, 0
	return true
}

// saw takes an answer, and the head of the store after it.
func (t *trail) saw(n news, head core.Head) {
	if t.head != 0 && n.leader.Term != 0 && (n.head > t.head || n.probe > t.probe) {
		t.newest = head
	}
	t.at, t.head, t.probe = n.at, n.head, n.probe
}

// Witness is the newest head that a living leader has shown to this store; zero: it has followed none.
func (s *Store) Witness() core.Head {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trail.newest
}
