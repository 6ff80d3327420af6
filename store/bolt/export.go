package bolt

import (
	"context"
	"errors"
	"io"

	"go.etcd.io/bbolt"

	"github.com/weft-hpc/weft/store/backup"
)

// Export writes a backup of the store as it is between two commits. It gathers all records first, while commits go on:
// a slow w would hold up the file's growth.
func (s *Store) Export(ctx context.Context, w io.Writer) error {
	var held blocks
	err := s.between(func(tx *bbolt.Tx) error {
		return backup.Write(&held, func(put func(rec []byte) error) error { return walk(ctx, tx, put) })
	})
	if err != nil {
		return err
	}
	return held.flush(w)
}

// Walk puts every record as bytes, in the order of Load, as they are between two commits. put may not keep them.
func (s *Store) Walk(ctx context.Context, put func(rec []byte) error) error {
	return s.between(func(tx *bbolt.Tx) error { return walk(ctx, tx, put) })
}

// between reads the store as it is between two commits, while others follow.
func (s *Store) between(read func(*bbolt.Tx) error) error {
	var tx *bbolt.Tx
	s.mu.Lock()
	err := s.readable()
	if err == nil {
		err = s.whole(func() (err error) { tx, err = s.db.Begin(false); return err })
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	err = s.guard(s.path, func() error { return read(tx) })
	var p panicked
	if errors.As(err, &p) {
		s.mu.Lock()
		s.dead = err
		s.mu.Unlock()
		return err
	}
	return errors.Join(err, tx.Rollback())
}

// blockSize is that of a block, in bytes.
const blockSize = 1 << 20

// blocks are bytes in memory, which need not be copied as they grow.
type blocks [][]byte

func (b *blocks) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		last := len(*b) - 1
		if last < 0 || len((*b)[last]) == blockSize {
			*b, last = append(*b, make([]byte, 0, blockSize)), last+1
		}
		block := (*b)[last]
		take := min(len(p), blockSize-len(block))
		(*b)[last], p = append(block, p[:take]...), p[take:]
	}
	return n, nil
}

// flush writes them, and lets each go.
func (b blocks) flush(w io.Writer) error {
	for i := range b {
		if _, err := w.Write(b[i]); err != nil {
			return err
		}
		b[i] = nil
	}
	return nil
}
