package etcd

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	leastLog = 8 << 20          // bytes of the log below which pages are not worth writing
	saveMost = 64               // pages in a transaction: etcd takes 128 operations
	saveWait = 30 * time.Second // for one of them
	saveRest = 10 * time.Second // after a failure
)

// save rewrites the pages where the log has grown as large as they are. It never waits. s.mu is held.
func (s *Store) save() {
	if s.saves || s.logged < max(s.saveAt, s.image.bytes) {
		return
	}
	logged := s.logged
	s.saves, s.logged = true, 0
	s.saving.Go(func() {
		err := s.saveAll()
		if err != nil {
			select {
			case <-time.After(saveRest):
			case <-s.ctx.Done():
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.saves = false
		if err != nil {
			s.logged += logged
		}
	})
}

// saveAll writes the pages that lack parts, and drops those parts from the log.
func (s *Store) saveAll() error {
	s.mu.Lock()
	image := s.image
	var names []string
	for name, p := range image.pages {
		if p.since != 0 {
			names = append(names, name)
		}
	}
	s.mu.Unlock()
	for len(names) > 0 {
		n, err := s.savePages(image, names)
		if err != nil {
			return err
		}
		names = names[n:]
	}
	return s.drop(image)
}

// saved is a page as it was when it was written.
type saved struct {
	*page
	since uint64
	empty bool
}

// savePages writes the first few of names in one transaction, and gives how many.
func (s *Store) savePages(image *image, names []string) (int, error) {
	s.mu.Lock()
	if err := s.unsaved(image); err != nil {
		s.mu.Unlock()
		return 0, err
	}
	var ops []clientv3.Op
	var list []saved
	want := at{}
	size := 0
	for _, name := range names[:min(len(names), saveMost)] {
		p := image.pages[name]
		key := pagePrefix + name
		op := clientv3.OpDelete(s.kv.prefix + key)
		if len(p.records) > 0 {
			value := summed(key, image.bytesOf(p))
			if size += len(value); size > most && len(list) > 0 {
				break
			}
			op = clientv3.OpPut(s.kv.prefix+key, string(value))
		}
		want[key], ops = p.mod, append(ops, op)
		list = append(list, saved{p, p.since, len(p.records) == 0})
		p.since = 0
	}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(s.ctx, saveWait)
	defer cancel()
	mod, err := s.kv.write(ctx, want, ops...)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range list {
		switch {
		case err != nil:
			p.page.since = p.since
		case p.empty:
			p.mod = 0
		default:
			p.mod = mod
		}
	}
	if image != s.image {
		return len(list), nil
	}
	return len(list), s.mark(err)
}

// unsaved says why an image is not the one to save.
func (s *Store) unsaved(image *image) error {
	if s.dead != nil {
		return s.dead
	}
	if image != s.image && s.doubt == nil {
		return errRead
	}
	return s.doubt
}

// drop removes the parts that every page has.
func (s *Store) drop(image *image) error {
	s.mu.Lock()
	err := s.unsaved(image)
	written := image.written()
	s.mu.Unlock()
	if err != nil || written == 0 {
		return err
	}
	ctx, cancel := context.WithTimeout(s.ctx, saveWait)
	defer cancel()
	old := clientv3.OpDelete(s.kv.prefix+partKey(0), clientv3.WithRange(s.kv.prefix+partKey(written+1)))
	_, err = s.kv.write(ctx, nil, old)
	return err
}

// Compact has etcd forget what its keys were before a revision, which it gives for the next call. Each write makes a
// revision, also the pulse of an idle leader. Other users of etcd lose these revisions, too.
func (s *Store) Compact(ctx context.Context, before int64) (now int64, err error) {
	got, err := s.kv.client.Get(ctx, s.kv.prefix+headKey, clientv3.WithCountOnly())
	if err != nil {
		return before, s.kv.failed(err)
	}
	if before != 0 {
		if _, err := s.kv.client.Compact(ctx, before); err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
			return before, s.kv.failed(err)
		}
	}
	return got.Header.Revision, nil
}
