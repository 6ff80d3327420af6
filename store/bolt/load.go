package bolt

import (
	"context"

	"go.etcd.io/bbolt"

	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/record"
)

// Load tells every record in order of table, serial and name. tell must not call the store.
func (s *Store) Load(ctx context.Context, tell func(engine.Record) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readable(); err != nil {
		return err
	}
	var told error
	err := s.view(func(tx *bbolt.Tx) error {
		var d record.Decoder
		told = walk(ctx, tx, func(rec []byte) error {
			r, err := d.Decode(rec)
			if err != nil {
				return err
			}
			return tell(r)
		})
		return nil
	})
	if err != nil {
		return err
	}
	return told
}

// readable is usable. Where the last commit failed, it reads the disk again.
func (s *Store) readable() error {
	if s.dead == nil && s.doubt != nil {
		s.renew()
	}
	return s.usable()
}

// checkEvery is how many records are read between two looks at the context.
const checkEvery = 1024

// walk visits every encoded record in order.
func walk(ctx context.Context, tx *bbolt.Tx, each func(rec []byte) error) error {
	n := 0
	for t := engine.TableMeta; t <= engine.TableTombstone; t++ {
		c := tx.Bucket(bucketName(t)).Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			if n++; n%checkEvery == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if err := each(bare(v)); err != nil {
				return err
			}
		}
	}
	return nil
}
