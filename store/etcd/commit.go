package etcd

import (
	"context"
	"errors"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/record"
)

// Commit writes all of a batch or, with an error, all or none of it: Load then tells. It is durable on a majority of
// etcd's members when it returns. record.Fence has the batches that it refuses, and etcd refuses a server that leads no
// longer. Without records it finds whether the store could be written.
func (s *Store) Commit(ctx context.Context, batch []engine.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return err
	}
	ctx, cancel := s.within(ctx)
	defer cancel()
	if len(batch) == 0 {
		return s.pulse(ctx)
	}
	if _, err := record.Fence(s.image.head, batch); err != nil {
		return err
	}
	list, err := encode(batch)
	if err != nil {
		return err
	}
	if err := s.append(ctx, list); err != nil {
		return s.mark(err)
	}
	s.save()
	return nil
}

// append lays changes over the image and adds them to the log. Where it fails, the image is ahead of etcd.
func (s *Store) append(ctx context.Context, list []change) error {
	list, err := s.lay(list)
	if err != nil {
		return err
	}
	values, err := parts(list)
	if err != nil {
		return err
	}
	for _, v := range values {
		key := partKey(s.image.part + 1)
		v = summed(key, v)
		if err := s.write(ctx, clientv3.OpPut(s.kv.prefix+key, string(v))); err != nil {
			return err
		}
		s.image.part++
		s.logged += len(v)
	}
	return nil
}

// within ends a commit with the lease: etcd takes no write of this server after that.
func (s *Store) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.lease == nil {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.lease.Left())
}

var errLate = errors.New("it was not renewed in time")

// pulseEvery is how long a store that etcd took a write of is good without another.
const pulseEvery = 900 * time.Millisecond

// pulse shows that this store is the newest, and that etcd takes writes. Standbys believe a leader that does so.
func (s *Store) pulse(ctx context.Context) error {
	if s.wrote != 0 && running()-s.wrote < pulseEvery {
		return nil
	}
	_, err := s.kv.write(ctx, at{headKey: s.head}, clientv3.OpPut(s.kv.prefix+probeKey, ""))
	if err == nil {
		s.wrote = running()
	}
	return err
}

// encode gives the changes of a batch. Only the last Meta of a group commit is worth writing.
func encode(batch []engine.Record) ([]change, error) {
	var list []change
	var meta change
	for _, r := range batch {
		c := change{at: r.Slot()}
		if _, ok := r.(engine.Delete); !ok {
			var err error
			if c.record, err = record.Append(nil, r); err != nil {
				return nil, err
			}
		}
		if c.at.Table == engine.TableMeta {
			meta = c
			continue
		}
		list = append(list, c)
	}
	return append(list, meta), nil
}

// lay lays changes over the image, and gives them as they are written. They have the facts that only a later release
// knows, and with a reservation its phase and its joins go.
func (s *Store) lay(list []change) (out []change, err error) {
	next := s.image.part + 1
	put := func(c change) error {
		out = append(out, c)
		return s.image.apply(next, c)
	}
	for _, c := range list {
		if old := s.image.at(c.at).records[c.at]; old != nil && c.record != nil {
			kept, err := record.Keep(c.record, old)
			if err != nil {
				return nil, err
			}
			if kept != nil {
				c.record = kept
			}
		}
		if c.record == nil && c.at.Table == engine.TableReservation {
			for name := range s.image.joins[c.at.Serial] {
				if err := put(change{at: engine.Join{Serial: c.at.Serial, Node: name}.Slot()}); err != nil {
					return nil, err
				}
			}
			phase := engine.Transition{Serial: c.at.Serial}.Slot()
			if s.image.at(phase).records[phase] != nil {
				if err := put(change{at: phase}); err != nil {
					return nil, err
				}
			}
		}
		if err := put(c); err != nil {
			return nil, err
		}
	}
	return out, nil
}
