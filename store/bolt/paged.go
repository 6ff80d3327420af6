package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
)

// layout has the differences between a store and a ledger.
type layout struct {
	kind      string   // for messages
	tables    []string // the name of each bucket of records, in the order in which checksums count them, from 1
	check     func(table int, rec []byte) error
	serials   bool        // keys begin with a serial, big-endian
	synced    bool        // a commit is on the disk when it returns
	witnessed bool        // who opens it knows by other means that it lacks its last commit
	tell      func(error) // not nil: it takes the error of a damaged record, and the check goes on
	bare      bool        // older releases wrote it without seal and checksums, in pages of the machine's size
}

func (l layout) name(key []byte) string {
	if !l.serials {
		return strconv.Quote(string(key))
	}
	serial, name := binary.BigEndian.Uint64(key), core.Clip(string(key[8:]))
	switch {
	case name == "":
		return fmt.Sprint(serial)
	case serial == 0:
		return strconv.Quote(name)
	}
	return fmt.Sprintf("%d %q", serial, name)
}

// paged is an open file.
type paged struct {
	layout
	path  string
	fresh func(*bbolt.Tx) error
	lock  *os.File

	mu    sync.Mutex
	db    *bbolt.DB // nil: could not be opened again after a failed commit
	file  *os.File  // db's own
	size  int64     // of file
	doubt error     // why the last commit failed: nothing is written before the whole file has been rewritten
	dead  error     // it is closed, or bbolt panicked: no call is served any more
}

// openPaged opens the file at path, or makes an empty one where there is none. It calls fresh now and after a rewrite.
func openPaged(path string, l layout, fresh func(*bbolt.Tx) error) (_ *paged, sh shape, err error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // compaction puts a new file in its place, not in the link's
	}
	held, err := l.hold(path)
	if err != nil {
		return nil, sh, err
	}
	s := &paged{layout: l, path: path, fresh: fresh, lock: held}
	defer func() {
		if err != nil {
			_ = s.Close()
		}
	}()
	if err := l.sweep(path); err != nil {
		return nil, sh, err
	}
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		if err := l.replace(path, func(*bbolt.DB) error { return nil }); err != nil {
			return nil, sh, err
		}
	}
	if sh, err = l.verify(path); err != nil {
		return nil, sh, err
	}
	if sh.wasteful() || sh.foreign || sh.bare {
		if err := l.compact(path, sh.bare); err != nil {
			return nil, sh, err
		}
	}
	return s, sh, s.open()
}

// Close lets the file and its lock go. A second Close does nothing.
func (s *paged) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock == nil {
		return nil
	}
	var errs []error
	if s.dead == nil && s.db != nil {
		errs = append(errs, s.db.Close())
	}
	errs = append(errs, unlock(s.lock))
	s.db, s.lock, s.dead = nil, nil, core.Errorf(core.StoreFailed, "%s: %s: it is closed", s.kind, s.path)
	if err := errors.Join(errs...); err != nil {
		return s.failed(s.path, err)
	}
	return nil
}

// open maps a verified file.
//
// The freelist is not kept in the file (NoFreelistSync): otherwise every commit would write it whole, megabytes after a
// busy day. Finding it again costs one more walk over pages that verify has just read. As a map (FreelistMapType) it
// finds a run of pages without a search.
func (s *paged) open() error {
	return s.guard(s.path, func() error {
		db, err := bbolt.Open(s.path, 0o600, &bbolt.Options{
			Timeout: time.Millisecond, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType,
			PageSize: pageSize, NoSync: !s.synced,
			OpenFile: func(path string, flag int, mode os.FileMode) (f *os.File, err error) {
				s.file, err = file.Open(path, flag, mode)
				return s.file, err
			},
		})
		if err != nil {
			return s.foreignLock(s.path, err)
		}
		s.db, s.size = db, 0
		return db.View(s.fresh)
	})
}

// usable reports whether there is a file to use. One that lies elsewhere now is none: the next start would lack what is
// written into it.
func (s *paged) usable() error {
	if s.dead != nil {
		return s.dead
	}
	if s.db == nil {
		return s.doubt
	}
	if err := moved(s.file, s.path); err != nil {
		return core.Errorf(core.StoreFailed, "%s: %s: %w", s.kind, s.path, err).
			WithRemedy("move the " + s.kind + " back there; where it is lost, restart the daemon (docs/restore.md)")
	}
	return nil
}

func (s *paged) view(do func(*bbolt.Tx) error) error {
	db := s.db
	return s.whole(func() error { return db.View(do) })
}

// update is bbolt's Update without the roll-back after a panic, which reads the file in a goroutine without a guard.
func (s *paged) update(do func(*bbolt.Tx) error) error {
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
func (s *paged) whole(do func() error) error {
	same := func() error {
		info, err := s.file.Stat()
		if err == nil && info.Size() < s.size {
			err = core.Errorf(core.StoreCorrupt, "%s: %s: %w", s.kind, s.path,
				panicked{fmt.Sprintf("another program cut it from %d to %d bytes", s.size, info.Size())})
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

// guarded ends the store where bbolt panics: the state of its locks and pages is not known then.
func (s *paged) guarded(do func() error) error {
	err := s.guard(s.path, do)
	var p panicked
	if errors.As(err, &p) {
		s.dead = err
	}
	return err
}
