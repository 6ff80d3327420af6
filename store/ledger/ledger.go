// Package ledger keeps what a node's agent must remember across its own restarts: the runs that it holds.
//
// The file lies under the run directory, a tmpfs: records and CXI services die together at a reboot. So a commit need not reach a disk, only survive the
// death of the process, and it is written without fsync.
package ledger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	bbolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
)

var bucket = []byte("records")

// lockWait is how long another process may keep the file before it is said that it does.
const lockWait = 200 * time.Millisecond

// File is a node.Store in one file. Safe for concurrent use.
type File struct {
	db *bbolt.DB
}

// Open opens or makes the file at path, for this process alone. A file that is damaged is refused: moving it away makes the node's services unknown ones,
// which stay held and are shown, so nothing is lost but comfort.
func Open(path string) (f *File, err error) {
	defer func() {
		if r := recover(); r != nil {
			f, err = nil, corrupt(path, fmt.Errorf("%v", r))
		}
	}()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockWait, NoSync: true, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType})
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return nil, core.Errorf(core.StoreLocked, "ledger %s: another process has it open", path).WithRemedy("end the other agent of this node first")
	case errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist):
		return nil, core.Errorf(core.StoreFailed, "ledger %s: %w", path, err)
	case err != nil:
		return nil, corrupt(path, err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucket)
		return err
	})
	if err != nil {
		_ = db.Close()
		return nil, corrupt(path, err)
	}
	return &File{db}, nil
}

func corrupt(path string, err error) error {
	return core.Errorf(core.StoreCorrupt, "ledger %s: %w", path, err).
		WithRemedy("move it away and start again: services of running jobs are then shown as unknown and stay held until they are gone")
}

// Load tells every record.
func (f *File) Load(ctx context.Context, tell func(node.Record) error) error {
	return f.db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(bucket).ForEach(func(k, v []byte) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			r, err := decode(v)
			if err != nil {
				return core.Errorf(core.StoreCorrupt, "ledger %s: record %q: %w", f.db.Path(), k, err)
			}
			return tell(r)
		})
	})
}

// Commit writes all records or none.
func (f *File) Commit(_ context.Context, records []node.Record) error {
	err := f.db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucket)
		for _, r := range records {
			if d, ok := r.(node.Delete); ok {
				if err := b.Delete([]byte(d.Of)); err != nil {
					return err
				}
				continue
			}
			v, err := encode(r)
			if err != nil {
				return err
			}
			if err := b.Put([]byte(r.Name()), v); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return core.Errorf(core.StoreFailed, "ledger %s: %w", f.db.Path(), err).WithRemedy("free space in the run directory")
	}
	return nil
}

// Close gives the file back.
func (f *File) Close() error { return f.db.Close() }
