package etcd

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/record"
)

// Options of Open.
type Options struct {
	Client *clientv3.Client
	Prefix string // of the system's keys, with the slash at its end
	SaveAt int    // bytes of the log from which on the pages are rewritten, unless they are larger; 0: 8 MiB
	Moved  bool   // also open a store that was copied elsewhere, or whose copy has not ended: no server may use one
	System string // identifies the system that the store is of; empty: any
	Leader int64  // create revision of Prefix + "leader" while this server leads, which etcd compares; 0: it does not
}

// Store is a system's records in etcd, and all of them in memory. Safe for concurrent use, though made for one writer.
type Store struct {
	kv         keys
	mu         sync.Mutex
	image      *image
	head       int64 // the revision of etcd that wrote headKey last
	writes     int64 // of headKey that a standby has read
	system     string
	owner      string // the system that etcd names; empty: none yet
	unfinished bool   // etcd has parts of a commit that has not come to its end
	logged     int    // bytes of the log since the pages were last written
	doubt      error  // what etcd has is not known, and is read before anything else
	dead       error  // closed, or another server leads

	moved     record.Move
	movedAt   int64 // the revision of etcd that wrote movedKey; 0: it is not there
	takeMoved bool

	lease *Lease        // while this server leads
	wrote time.Duration // of the running clock, when etcd took a write last
	trail trail

	saveAt int
	saving sync.WaitGroup
	saves  bool            // a save is under way
	ctx    context.Context //nolint:containedctx // of saves, for which no caller waits
	end    context.CancelFunc
}

var _ engine.Store = (*Store)(nil)

// Open reads the store below a prefix, which may be empty. Errors are core.StoreFailed, core.StoreCorrupt,
// core.StoreNewer, core.StoreMoved and core.BadConfig, for endpoints that are not of one etcd.
func Open(ctx context.Context, o Options) (*Store, error) {
	kv := keys{client: o.Client, prefix: o.Prefix, leader: o.Leader}
	s := &Store{kv: kv, system: o.System, saveAt: cmp.Or(o.SaveAt, leastLog), takeMoved: o.Moved}
	s.ctx, s.end = context.WithCancel(context.Background())
	answered, err := s.kv.members(ctx)
	if err == nil {
		err = s.read(ctx)
	}
	if err != nil {
		if s.end(); !answered && ctx.Err() != nil {
			err = s.kv.silent()
		}
		return nil, err
	}
	return s, nil
}

// Head is that of the last commit; zero in an empty store.
func (s *Store) Head() core.Head {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.image.head
}

// Close ends the writes under way. A second Close does nothing. The client stays open.
func (s *Store) Close() error {
	s.end()
	s.mu.Lock()
	s.dead = core.Errorf(core.StoreFailed, "store: %s: it is closed", &s.kv)
	s.mu.Unlock()
	s.saving.Wait()
	return nil
}

// usable says why the store cannot be used. It reads what etcd has where that is in doubt.
func (s *Store) usable(ctx context.Context) error {
	if s.dead != nil {
		return s.dead
	}
	if err := ctx.Err(); err != nil {
		return s.kv.failed(err)
	}
	if s.lease != nil && s.lease.Left() <= 0 { // all that it could do comes too late, and would only hold up its end
		return s.lease.over(errLate)
	}
	if s.doubt == nil {
		return nil
	}
	return s.read(ctx)
}

// write makes writes that follow each other: etcd refuses one that does not know the previous one.
func (s *Store) write(ctx context.Context, ops ...clientv3.Op) error {
	ops = append(ops, clientv3.OpPut(s.kv.prefix+headKey, cmp.Or(s.system, s.owner)))
	mod, err := s.kv.write(ctx, at{headKey: s.head}, ops...)
	if err == nil {
		s.head, s.wrote = mod, running()
	}
	return err
}

// mark notes what an error leaves in doubt, or ends.
func (s *Store) mark(err error) error {
	if err != nil {
		s.wrote = 0
	}
	var o overtaken
	switch {
	case err == nil:
	case errors.As(err, &o):
		if s.dead = err; s.lease != nil {
			s.lease.lose()
		}
	default:
		s.doubt = err
	}
	return err
}
