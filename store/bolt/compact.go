package bolt

import (
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"time"

	"go.etcd.io/bbolt"

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
func (l layout) compact(path string, bare bool) error {
	return l.guard(path, func() error {
		// Read-only, bbolt does not look at the freelist.
		src, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Millisecond, ReadOnly: true})
		if err != nil {
			return l.foreignLock(path, err)
		}
		defer func() { _ = src.Close() }()
		return l.replace(path, func(dst *bbolt.DB) error {
			if bare {
				return l.seal(dst, src)
			}
			return bbolt.Compact(dst, src, compactStep)
		})
	})
}

// replace makes a whole new file beside path, fills it, and puts it in path's place when it is durable. Killed at any point, path is the old file or the
// new one. Where fill leaves it without buckets it becomes an empty store.
func (l layout) replace(path string, fill func(*bbolt.DB) error) (err error) {
	next := path + ".new"
	defer func() {
		if err != nil {
			err = errors.Join(l.failed(path, err), l.sweep(path))
		}
	}()
	// Nothing need be synced before the end.
	db, err := bbolt.Open(next, 0o600, &bbolt.Options{
		Timeout: time.Millisecond, PageSize: pageSize, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType, NoSync: true, NoGrowSync: true,
	})
	if err != nil {
		return err
	}
	if err := errors.Join(fill(db), l.furnish(db), l.furnish(db), db.Close()); err != nil {
		return err
	}
	return file.Rename(next, path)
}

// seal copies records that an older release wrote without checksums.
func (l layout) seal(dst, src *bbolt.DB) error {
	if err := l.furnish(dst); err != nil {
		return err
	}
	return src.View(func(from *bbolt.Tx) error {
		return dst.Update(func(to *bbolt.Tx) error {
			return sealed(to, func(now *seal) error {
				for i, table := range l.tables {
					b := to.Bucket([]byte(table))
					err := from.Bucket([]byte(table)).ForEach(func(key, rec []byte) error {
						return now.set(b, key, summed(slices.Clone(rec), 0, i+1, key))
					})
					if err != nil {
						return err
					}
				}
				return nil
			})
		})
	})
}

// furnish makes the buckets that are missing. Done twice, both meta pages are those of a whole store.
func (l layout) furnish(db *bbolt.DB) error {
	return db.Update(func(tx *bbolt.Tx) error {
		for _, table := range l.tables {
			if _, err := tx.CreateBucketIfNotExists([]byte(table)); err != nil {
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
		if about.Get(movedKey) != nil {
			return nil
		}
		return about.Put(formatKey, binary.BigEndian.AppendUint32(nil, Format))
	})
}

// renew tries to make a store sound again after a failed commit: it rewrites the file, so that what is read is what is on the disk. Where that fails, as
// on a full disk, the file is opened as it is, to be read, and the doubt stays.
func (s *paged) renew() {
	if s.db != nil {
		db := s.db
		s.db = nil
		if err := s.guarded(db.Close); err != nil {
			s.doubt = err
			return
		}
	}
	if _, err := s.verify(s.path); err != nil {
		s.doubt = err
		return
	}
	doubt := s.compact(s.path, false)
	if err := s.open(); err != nil {
		doubt = err
	}
	s.doubt = doubt
}

// sweep removes what a killed process left in the making.
func (l layout) sweep(path string) error {
	if err := os.Remove(path + ".new"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return l.failed(path, err)
	}
	return nil
}
