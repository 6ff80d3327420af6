package etcd

import (
	"context"
	"time"

	"github.com/weft-hpc/weft/core"
)

// trail is a standby's memory of etcd from one Follow to the next. It is the evidence that the store is the newest.
//
// A restored etcd can have an old leader's key. So the trail counts a leader's head only once it has seen this leader
// write: a commit or a pulse, which compares the head that the leader knows. A leader writes about once a second.
type trail struct {
	at          place
	when        time.Duration // of the running clock
	broken      bool          // etcd was restored from a copy since
	head, probe int64         // as in news
	newest      core.Head
}

// longGap is a time without an answer of etcd in which a leader may have written much, and etcd may have been restored
// from a copy of then.
const longGap = 10 * time.Second

// back reports whether etcd is at a place before one that was seen: it was restored from a copy.
func (t *trail) back(at place) bool {
	if at.revision >= t.at.revision && at.term >= t.at.term {
		return false
	}
	t.at, t.broken = at, true
	return true
}

// saw takes an answer, and the head of the store after it. Commits that came in a gap prove nothing: they may be those
// of a copy.
func (t *trail) saw(n news, head core.Head) {
	gap := t.broken || running()-t.when > longGap
	switch {
	case gap && n.head > t.head:
		t.newest = core.Head{}
	case gap: // a copy without the head that was seen is still found out
	case t.head != 0 && n.leader.Term != 0 && (n.head > t.head || n.probe > t.probe):
		t.newest = head
	}
	t.at, t.head, t.probe, t.when, t.broken = n.at, n.head, n.probe, running(), false
}

// Lag is how many of the leader's writes a standby lacks. Each is a commit, or a part of a large one.
func (s *Store) Lag(ctx context.Context) (int64, error) {
	s.mu.Lock()
	before := s.writes
	s.mu.Unlock()
	got, err := s.kv.client.Get(ctx, s.kv.prefix+headKey)
	if err != nil {
		return 0, s.kv.failed(err)
	}
	if len(got.Kvs) == 0 {
		return 0, nil
	}
	return max(0, got.Kvs[0].Version-before), nil
}

// Witness is the newest head that a living leader has shown to this store; zero: it has followed none.
func (s *Store) Witness() core.Head {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trail.newest
}
