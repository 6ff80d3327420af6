package bolt

import (
	"context"
	"encoding/binary"

	"go.etcd.io/bbolt"

	"github.com/weft-hpc/weft/store/record"
)

// Moved is where the store was copied to, or comes from.
func (s *Store) Moved() record.Move { return s.moved }

// Path is that of the file, without symbolic links.
func (s *Store) Path() string { return s.path }

// Move makes the store one that no server may use or, with the zero value, that one may. It is durable when it returns.
func (s *Store) Move(ctx context.Context, m record.Move) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return s.failed(s.path, err)
	}
	if err := s.readable(); err != nil {
		return err
	}
	if s.doubt != nil {
		return s.doubt
	}
	if err := s.update(func(tx *bbolt.Tx) error { return move(tx, m) }); err != nil {
		s.doubt = err
		return err
	}
	s.moved = m
	return nil
}

func move(tx *bbolt.Tx, m record.Move) error {
	about, format := tx.Bucket(aboutBucket), uint32(noServer)
	if m == (record.Move{}) {
		format = Format
		if err := about.Delete(movedKey); err != nil {
			return err
		}
	} else if err := about.Put(movedKey, m.Bytes()); err != nil {
		return err
	}
	return about.Put(formatKey, binary.BigEndian.AppendUint32(nil, format))
}
