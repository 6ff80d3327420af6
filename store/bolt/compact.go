package bolt

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"

	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/file"
)

// compactAbove is the size in bytes of the used part below which a file is never worth compacting.
const compactAbove = 256 << 10

// compactStep bounds a transaction of the copy, in bytes.
const compactStep = 16 << 20

// wasteful reports whether more than half of the file is free: it never shrinks by itself.
func (s shape) wasteful() bool {
	return s.pages*pageSize > compactAbove && s.used*2 < s.pages
}

// compact puts a copy without free pages in the file's place.
func compact(path string) error {
	return guard(path, func() error {
		// Read-only, bbolt does not look at the freelist.
		src, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Millisecond, ReadOnly: true})
		if err != nil {
			return foreignLock(path, err)
		}
		defer func() { _ = src.Close() }()
		return replace(path, func(dst *bbolt.DB) error { return bbolt.Compact(dst, src, compactStep) })
	})
}

// replace makes a whole new file beside path, fills it, and puts it in path's place when it is durable. Killed at any point, path is the old file or the
// new one. Where fill leaves it without buckets it becomes an empty store.
func replace(path string, fill func(*bbolt.DB) error) (err error) {
	next := path + ".new"
	defer func() {
		if err != nil {
			err = errors.Join(failed(path, err), sweep(path))
		}
	}()
	// Nothing need be synced before the end.
	db, err := bbolt.Open(next, 0o600, &bbolt.Options{
		Timeout: time.Millisecond, PageSize: pageSize, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType, NoSync: true, NoGrowSync: true,
	})
	if err != nil {
		return err
	}
	if err := errors.Join(fill(db), furnish(db), furnish(db), db.Close()); err != nil {
		return err
	}
	if err := file.Sync(next); err != nil {
		return err
	}
	if err := os.Rename(next, path); err != nil {
		return err
	}
	return file.Sync(filepath.Dir(path))
}

// furnish makes the buckets that are missing. Done twice, both meta pages are those of a whole store.
func furnish(db *bbolt.DB) error {
	return db.Update(func(tx *bbolt.Tx) error {
		for t := engine.TableMeta; t <= engine.TableTombstone; t++ {
			if _, err := tx.CreateBucketIfNotExists(bucketName(t)); err != nil {
				return err
			}
		}
		about, err := tx.CreateBucketIfNotExists(aboutBucket)
		if err != nil {
			return err
		}
		if about.Get(sealKey) == nil {
			if err := about.Put(sealKey, seal{}.bytes()); err != nil {
				return err
			}
		}
		return about.Put(formatKey, binary.BigEndian.AppendUint32(nil, Format))
	})
}

// renew tries to make a store sound again after a failed commit: it rewrites the file, so that what is read is what is on the disk. Where that fails, as
// on a full disk, the file is opened as it is, to be read, and the doubt stays.
func (s *Store) renew() {
	if s.db != nil {
		db := s.db
		s.db = nil
		if err := s.guarded(db.Close); err != nil {
			s.doubt = err
			return
		}
	}
	if _, err := verify(s.path); err != nil {
		s.doubt = err
		return
	}
	doubt := compact(s.path)
	if err := s.open(); err != nil {
		doubt = err
	}
	s.doubt = doubt
}

// sweep removes what a killed process left in the making.
func sweep(path string) error {
	if err := os.Remove(path + ".new"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return failed(path, err)
	}
	return nil
}
