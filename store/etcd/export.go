package etcd

import (
	"context"
	"io"

	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/backup"
)

// Export writes a backup of the store as it is between two commits. A slow w holds up no commit.
func (s *Store) Export(ctx context.Context, w io.Writer) error {
	return backup.Write(w, func(put func(rec []byte) error) error { return s.Walk(ctx, put) })
}

// checkEvery is how many records are put between two looks at the context.
const checkEvery = 1024

// Walk puts every record as bytes, in the order of Load, as they are between two commits. put may not keep them.
func (s *Store) Walk(ctx context.Context, put func(rec []byte) error) error {
	all, err := s.all(ctx)
	if err != nil {
		return err
	}
	for i, c := range sorted(all) {
		if i%checkEvery == 0 && ctx.Err() != nil {
			return s.kv.failed(ctx.Err())
		}
		if err := put(c.record); err != nil {
			return err
		}
	}
	return nil
}

// Nodes are the names of the nodes that the store knows, in no order.
func (s *Store) Nodes() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.image.pages {
		for at := range p.records {
			if at.Table == engine.TableNode {
				names = append(names, at.Name)
			}
		}
	}
	return names
}
