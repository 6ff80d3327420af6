package bolt

import (
	"context"
	"encoding/binary"

	"go.etcd.io/bbolt"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/record"
)

// fill is how full a page gets before it is split: serials rise, so that most keys come behind all others.
const fill = 0.9

// put is one write; without a value it is a Delete.
type put struct {
	at    engine.Slot
	key   []byte
	value []byte
}

// Commit writes all of a batch or, with an error, none of it; it is durable when it returns. See record.Fence for what is refused. A commit that has
// begun is finished, whatever becomes of ctx. Without records it finds whether the store could be written.
//
// After core.StoreFailed from the disk, what the kernel still has of the file may not be on the disk, and no second sync would say so. Load then reads
// what is there, and the next Commit first rewrites the file whole.
func (s *Store) Commit(ctx context.Context, batch []engine.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead != nil {
		return s.dead
	}
	if err := ctx.Err(); err != nil {
		return s.failed(s.path, err)
	}
	if s.doubt != nil {
		if s.renew(); s.doubt != nil {
			return s.doubt
		}
	}
	if err := s.usable(); err != nil || len(batch) == 0 {
		return err
	}
	head, err := record.Fence(s.head, batch)
	if err != nil {
		return err
	}
	puts, err := encode(batch)
	if err != nil {
		return err
	}
	if err := s.update(func(tx *bbolt.Tx) error { return apply(tx, puts) }); err != nil {
		s.doubt = err
		return err
	}
	s.witness.note(head)
	if head.Incarnation != s.head.Incarnation {
		_ = s.witness.sync() // keep tries again and tells
	}
	s.head = head
	return nil
}

func encode(batch []engine.Record) ([]put, error) {
	puts := make([]put, 0, len(batch))
	var buf []byte
	var last *put // the Meta: of a group commit's many, only the last is worth writing
	for _, r := range batch {
		p := put{at: r.Slot()}
		start := len(buf)
		buf = appendKey(buf, p.at)
		p.key = buf[start:len(buf):len(buf)]
		if _, ok := r.(engine.Delete); !ok {
			start = len(buf)
			var err error
			if buf, err = record.Append(buf, r); err != nil {
				return nil, err
			}
			buf = summed(buf, start, int(p.at.Table), p.key)
			p.value = buf[start:len(buf):len(buf)]
		}
		if len(p.key) > bbolt.MaxKeySize {
			return nil, core.Errorf(core.StoreFailed, "store: %s %q: its name of %d bytes is too long", record.TableName(p.at.Table), core.Clip(p.at.Name), len(p.at.Name))
		}
		if p.at.Table == engine.TableMeta {
			last = &p
			continue
		}
		puts = append(puts, p)
	}
	if last != nil {
		puts = append(puts, *last)
	}
	return puts, nil
}

// summed is buf with the checksum of the record that begins at start.
func summed(buf []byte, start, table int, key []byte) []byte {
	return binary.BigEndian.AppendUint32(buf, sum(table, key, buf[start:]))
}

// bare is a value without its checksum.
func bare(value []byte) []byte { return value[:len(value)-sumSize] }

func apply(tx *bbolt.Tx, puts []put) error {
	return sealed(tx, func(now *seal) error {
		for _, p := range puts {
			b := tx.Bucket(bucketName(p.at.Table))
			b.FillPercent = fill
			if old := b.Get(p.key); old != nil && p.value != nil {
				kept, err := record.Keep(bare(p.value), bare(old))
				if err != nil {
					return err
				}
				if kept != nil {
					p.value = summed(kept, 0, int(p.at.Table), p.key)
				}
			}
			if err := now.set(b, p.key, p.value); err != nil {
				return err
			}
			if p.value != nil || p.at.Table != engine.TableReservation {
				continue
			}
			for _, t := range []engine.Table{engine.TableTransition, engine.TableJoin} {
				if err := removeSerial(tx.Bucket(bucketName(t)), p.at.Serial, now); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// removeSerial deletes what belongs to a reservation: its phase or its joins.
func removeSerial(b *bbolt.Bucket, serial uint64, now *seal) error {
	prefix := binary.BigEndian.AppendUint64(nil, serial)
	var keys [][]byte
	c := b.Cursor()
	for k, _ := c.Seek(prefix); k != nil && binary.BigEndian.Uint64(k) == serial; k, _ = c.Next() {
		keys = append(keys, k)
	}
	for _, k := range keys {
		if err := now.set(b, k, nil); err != nil {
			return err
		}
	}
	return nil
}

func bucketName(t engine.Table) []byte { return []byte(record.TableName(t)) }

// appendKey is serial, big-endian, and name.
func appendKey(dst []byte, at engine.Slot) []byte {
	return append(binary.BigEndian.AppendUint64(dst, at.Serial), at.Name...)
}
