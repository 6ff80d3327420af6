package etcd

import (
	"bytes"
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/store/record"
)

// Moved is where the store was copied to, or comes from.
func (s *Store) Moved() record.Move {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.moved
}

// Move makes the store one that no server may use or, with the zero value, that one may. It is durable when it returns.
func (s *Store) Move(ctx context.Context, m record.Move) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return err
	}
	return s.move(ctx, m)
}

func (s *Store) move(ctx context.Context, m record.Move, ops ...clientv3.Op) error {
	op := clientv3.OpDelete(s.kv.prefix + movedKey)
	if m != (record.Move{}) {
		value := summed(movedKey, append([]byte{form}, m.Bytes()...))
		op = clientv3.OpPut(s.kv.prefix+movedKey, string(value))
	}
	if err := s.write(ctx, append(ops, op)...); err != nil {
		return s.mark(err)
	}
	if s.moved, s.movedAt = m, s.head; m == (record.Move{}) {
		s.movedAt = 0
	}
	return nil
}

// Fill gives an empty store the records that fill puts. A later one of a slot replaces an earlier one. The store must
// lead. Where Fill fails the store is empty. With a place that the records come from, no server may use the store
// before Move. Fill may then replace a copy from there that has not ended. fill may not call the store.
func (s *Store) Fill(ctx context.Context, from string, fill func(put func(rec []byte) error) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return err
	}
	empty := s.image.head.Store == "" && len(s.image.all()) == 0 && s.moved == record.Move{}
	if !empty && (from == "" || s.moved.From != from) {
		return core.Errorf(core.BadCall, "store: %s: there is a store already: %s", &s.kv, core.Clip(s.image.head.Store)).
			WithRemedy("name another prefix; `etcdctl del --prefix` removes a store that is not needed")
	}
	var list []change
	var d record.Decoder
	err := fill(func(rec []byte) error {
		r, err := d.Decode(rec)
		if err != nil {
			return err
		}
		list = append(list, change{r.Slot(), bytes.Clone(rec)})
		return nil
	})
	if err != nil {
		return err
	}
	if from != "" {
		clear := func(of string) clientv3.Op {
			return clientv3.OpDelete(s.kv.prefix+of, clientv3.WithPrefix())
		}
		if err := s.move(ctx, record.Move{From: from}, clear(pagePrefix), clear(partPrefix)); err != nil {
			return err
		}
		part := s.image.part
		s.image, s.logged = newImage(), 0
		s.image.part = part
	}
	return s.mark(s.append(ctx, list))
}
