package etcd

import (
	"context"
	"strconv"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/record"
)

// Load tells every record in order of table, serial and name. Nothing waits for it: on a standby Follow must go on.
func (s *Store) Load(ctx context.Context, tell func(engine.Record) error) error {
	all, err := s.all(ctx)
	if err != nil {
		return err
	}
	var d record.Decoder
	for _, c := range sorted(all) {
		r, err := d.Decode(c.record)
		if err == nil {
			err = tell(r)
		}
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return s.kv.failed(err)
		}
	}
	return nil
}

// all are all records as they are between two commits, in no order.
func (s *Store) all(ctx context.Context) ([]change, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	return s.image.all(), nil
}

// Lead lets the store write, after it has read all that was written before.
func (s *Store) Lead(ctx context.Context, l *Lease) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kv.leader, s.lease = l.Term, l
	_, err := s.follow(ctx)
	if err == nil {
		err = s.tidy(ctx)
	}
	if err != nil {
		s.kv.leader, s.lease = 0, nil
	}
	return err
}

// Follow reads the commits of the leader that this store lacks, and which server leads; a zero Term: none. A standby
// calls it again and again: then little is left to read when it leads.
func (s *Store) Follow(ctx context.Context) (Leader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.follow(ctx)
}

func (s *Store) follow(ctx context.Context) (Leader, error) {
	if err := s.usable(ctx); err != nil {
		return Leader{}, err
	}
	for {
		n, err := s.kv.after(ctx, s.image.part)
		if err == nil {
			err = s.ours(n.system)
		}
		if err != nil {
			return Leader{}, err
		}
		more, err := s.catchUp(ctx, n)
		if err != nil {
			return Leader{}, err
		}
		if !more {
			s.trail.saw(n, s.image.head)
			n.leader.Wrote = n.leader.Term != 0 && n.head > n.leader.Term
			return n.leader, nil
		}
	}
}

// catchUp lays news over the image, and reports whether there may be more.
func (s *Store) catchUp(ctx context.Context, n news) (more bool, err error) {
	switch {
	case n.moved != s.movedAt:
		return true, s.read(ctx)
	case s.trail.back(n.at): // of another history: its parts can have the same numbers
		return true, s.read(ctx)
	case n.head == s.head:
		return false, nil
	case len(n.parts) == 0 || n.parts[0].key != partKey(s.image.part+1): // in pages by now
		return true, s.read(ctx)
	}
	r := reading{store: s, image: s.image, first: s.image.part, part: s.image.part, logged: s.logged}
	r.head, r.writes, r.moved, r.movedAt = n.head, n.writes, s.moved, s.movedAt
	s.doubt = errRead // the image is between two commits
	for _, p := range n.parts {
		if err := r.take(p); err != nil {
			return false, err
		}
	}
	if n.more && len(r.rest) > 0 { // a commit of more parts than one answer has
		return true, s.read(ctx)
	}
	return n.more, s.take(ctx, &r)
}

// read makes the image from etcd's keys.
func (s *Store) read(ctx context.Context) error {
	r := reading{store: s, image: newImage()}
	if err := s.kv.each(ctx, r.take); err != nil {
		return err
	}
	if r.first != 0 && r.part < r.image.part {
		return damaged(partKey(r.image.part), "it is not there")
	}
	if err := s.ours(r.system); err != nil {
		return err
	}
	return s.take(ctx, &r)
}

// take ends a reading.
func (s *Store) take(ctx context.Context, r *reading) error {
	s.image, s.head, s.writes, s.logged, s.doubt = r.image, r.head, r.writes, r.logged, nil
	s.moved, s.movedAt = r.moved, r.movedAt
	if err := s.moved.Refused(s.kv.String()); err != nil && !s.takeMoved {
		s.dead = err
		return err
	}
	s.unfinished = len(r.rest) > 0
	return s.tidy(ctx)
}

// tidy has a leader remove the parts of a commit that has not come to its end. It may have read them when it followed.
func (s *Store) tidy(ctx context.Context) error {
	if !s.unfinished || s.kv.leader == 0 {
		return nil
	}
	s.unfinished = false
	from, to := partKey(s.image.part+1), clientv3.GetPrefixRangeEnd(s.kv.prefix+partPrefix)
	_, err := s.kv.write(ctx, nil, clientv3.OpDelete(s.kv.prefix+from, clientv3.WithRange(to)))
	return err
}

// ours refuses a store of another system. It notes which one etcd names.
func (s *Store) ours(system string) error {
	if s.system != "" && system != "" && system != s.system {
		return core.Errorf(core.BadConfig,
			"store: %s: it is of another system: its servers have the authority %s, and this one %s",
			&s.kv, core.Clip(system), s.system).
			WithRemedy("give each system another `prefix` of `etcd` in config.hcl; " +
				"docs/servers.md says how to replace an authority")
	}
	s.owner = system
	return nil
}

// reading is a reading of etcd under way.
type reading struct {
	store       *Store
	image       *image
	head        int64
	system      string
	writes      int64  // of headKey
	first, part uint64 // of the log
	logged      int
	rest        []change // of a commit whose last part has not been read
	moved       record.Move
	movedAt     int64
}

func (r *reading) take(p pair) error {
	key := p.key
	name, page := strings.CutPrefix(key, pagePrefix)
	number, part := strings.CutPrefix(key, partPrefix)
	switch {
	case key == leaderKey, key == probeKey, strings.HasPrefix(key, ServerPrefix):
		return nil
	case key == headKey:
		r.head, r.system, r.writes = p.mod, string(p.value), p.times
		return nil
	case !page && !part && key != movedKey:
		return core.Errorf(core.StoreFailed, "store: %s: the key %q is not Weft's", &r.store.kv, core.Clip(key)).
			WithRemedy("name a prefix in config.hcl that no other system and no other program uses")
	}
	b, err := bare(key, p.value)
	if err != nil {
		return err
	}
	if key == movedKey {
		r.movedAt = p.mod
		r.moved, err = record.ReadMove(b)
		return err
	}
	if page {
		return r.image.restore(name, b, p.mod)
	}
	n, err := strconv.ParseUint(number, 16, 64)
	if err != nil || key != partKey(n) {
		return damaged(key, "it is no part's name")
	}
	return r.log(n, b, len(p.value))
}

func (r *reading) log(n uint64, b []byte, size int) error {
	key := partKey(n)
	switch {
	case len(b) == 0 || b[0] > more:
		return damaged(key, "it does not say whether it is the last of its commit")
	case r.first == 0:
		r.first = n
	case n != r.part+1:
		return damaged(partKey(r.part+1), "it is not there")
	}
	r.part = n
	r.logged += size
	list, err := changes(key, b[1:])
	if err != nil {
		return err
	}
	if r.rest = append(r.rest, list...); b[0] == more {
		return nil
	}
	for _, c := range r.rest {
		if err := r.image.apply(n, c); err != nil {
			return err
		}
	}
	r.rest, r.image.part = nil, max(r.image.part, n)
	return nil
}
