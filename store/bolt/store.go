package bolt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/file"
	"github.com/weft-hpc/weft/store/record"
)

// Options of Open.
type Options struct {
	Witness string // path of a file in the run directory that remembers the last commit's head; empty: none
}

// Store is an open file. Safe for concurrent use, though one writer is what it is made for.
type Store struct {
	path    string
	lock    *os.File
	witness *witness
	seen    core.Head

	mu    sync.Mutex
	db    *bbolt.DB // nil: could not be opened anew after a failed commit
	file  *os.File  // db's own
	size  int64     // of file
	head  core.Head
	doubt error // why the last commit failed: nothing is written before the whole file has been rewritten
	dead  error // it is closed, or bbolt panicked: no call is served any more
}

var _ engine.Store = (*Store)(nil)

// Open opens the store at path, or makes an empty one where there is no file. It waits no longer than a moment for another process.
//
// Errors are core.StoreLocked, which names the process that has it; core.StoreCorrupt; core.StoreNewer; and core.StoreFailed.
func Open(path string, o Options) (_ *Store, err error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // compaction puts a new file in its place, not in the link's
	}
	held, err := lock(path)
	if err != nil {
		return nil, err
	}
	s := &Store{path: path, lock: held}
	defer func() {
		if err != nil {
			_ = s.Close()
		}
	}()
	if err := sweep(path); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		if err := replace(path, func(*bbolt.DB) error { return nil }); err != nil {
			return nil, err
		}
	}
	shape, err := verify(path)
	if err != nil {
		return nil, err
	}
	if shape.wasteful() || shape.foreign {
		if err := compact(path); err != nil {
			return nil, err
		}
	}
	if err := s.open(); err != nil {
		return nil, err
	}
	if o.Witness != "" {
		if s.witness, s.seen, err = openWitness(o.Witness); err != nil {
			return nil, err
		}
	}
	// With a damaged meta page bbolt falls back on the state before the last commit. A disk writes a meta page's one sector whole, so the last commit was
	// acknowledged: the store is taken to be behind.
	if shape.one && s.head.Store != "" && (s.seen.Store == "" || s.seen == s.head) {
		s.seen = s.head
		s.seen.Revision++
	}
	// A process that was killed after its last commit may not have noted it. Without this, one killed after another leaves
	// the witness any number of commits behind.
	if !s.head.Before(s.seen) && s.head != s.seen {
		s.witness.note(s.head)
	}
	return s, nil
}

// Head is that of the last commit; zero in an empty store.
func (s *Store) Head() core.Head {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.head
}

// Seen is the newest head that was known outside the file when it was opened; zero where nothing was. With Head().Before(Seen()) the file is not the
// newest: it was put back from a backup, made anew, or lost its last commit to damage.
func (s *Store) Seen() core.Head { return s.seen }

// Stats are numbers of the file.
type Stats struct {
	Bytes   int64 // of the file's used part
	Free    int64 // of these, free to be used again; Open gives them back when they are more than half
	Witness error // why the last commit's head was not noted in the witness
}

// Stats are the file's numbers now.
func (s *Store) Stats() (Stats, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return Stats{}, err
	}
	var out Stats
	err := s.view(func(tx *bbolt.Tx) error { out.Bytes = tx.Size(); return nil })
	st := s.db.Stats()
	out.Free = int64(st.FreePageN+st.PendingPageN) * pageSize
	if s.witness != nil {
		out.Witness = s.witness.wrote
	}
	return out, err
}

// Close lets the file and its lock go. A second Close does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock == nil {
		return nil
	}
	var errs []error
	if s.dead == nil && s.db != nil {
		errs = append(errs, s.db.Close())
	}
	errs = append(errs, s.witness.close(), unlock(s.lock))
	s.db, s.lock, s.dead = nil, nil, core.Errorf(core.StoreFailed, "store: %s: it is closed", s.path)
	if err := errors.Join(errs...); err != nil {
		return failed(s.path, err)
	}
	return nil
}

// open maps a verified file.
//
// The freelist is not kept in the file (NoFreelistSync): otherwise every commit would write it whole, megabytes after a busy day. Finding it again costs
// Open one more walk over pages that verify has just read. As a map (FreelistMapType) it finds a run of pages without a search.
func (s *Store) open() error {
	return guard(s.path, func() error {
		db, err := bbolt.Open(s.path, 0o600, &bbolt.Options{
			Timeout: time.Millisecond, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType, PageSize: pageSize,
			OpenFile: func(path string, flag int, mode os.FileMode) (f *os.File, err error) {
				s.file, err = file.Open(path, flag, mode)
				return s.file, err
			},
		})
		if err != nil {
			return foreignLock(s.path, err)
		}
		s.db, s.size = db, 0
		return db.View(func(tx *bbolt.Tx) error {
			var err error
			s.head, err = readHead(tx)
			return err
		})
	})
}

func readHead(tx *bbolt.Tx) (core.Head, error) {
	v := tx.Bucket(bucketName(engine.TableMeta)).Get(appendKey(nil, engine.Meta{}.Slot()))
	if v == nil {
		return core.Head{}, nil
	}
	r, err := new(record.Decoder).Decode(v[:len(v)-sumSize])
	if err != nil {
		return core.Head{}, err
	}
	return r.(engine.Meta).Head, nil
}

// usable reports whether there is a file to read.
func (s *Store) usable() error {
	if s.dead != nil {
		return s.dead
	}
	if s.db == nil {
		return s.doubt
	}
	return nil
}

func (s *Store) view(do func(*bbolt.Tx) error) error {
	db := s.db
	return s.whole(func() error { return db.View(do) })
}

// update is bbolt's Update without the roll-back after a panic, which reads the file in a goroutine without a guard.
func (s *Store) update(do func(*bbolt.Tx) error) error {
	db := s.db
	return s.whole(func() error {
		tx, err := db.Begin(true)
		if err != nil {
			return err
		}
		if err := do(tx); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		return tx.Commit()
	})
}

// whole is guarded, and ends the store where another program cut the file short: bbolt would write on behind the gap.
func (s *Store) whole(do func() error) error {
	same := func() error {
		info, err := s.file.Stat()
		if err == nil && info.Size() < s.size {
			err = core.Errorf(core.StoreCorrupt, "store: %s: %w", s.path, panicked{fmt.Sprintf("another program cut it from %d to %d bytes", s.size, info.Size())})
		}
		if err == nil {
			s.size = info.Size()
		}
		return err
	}
	return s.guarded(func() error {
		if err := same(); err != nil {
			return err
		}
		if err := do(); err != nil {
			return err
		}
		return same()
	})
}

// guarded ends the store where bbolt panics: what its locks and pages are then is not known.
func (s *Store) guarded(do func() error) error {
	err := guard(s.path, do)
	var p panicked
	if errors.As(err, &p) {
		s.dead = err
	}
	return err
}
