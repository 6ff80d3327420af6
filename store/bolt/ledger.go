package bolt

import (
	"context"

	"go.etcd.io/bbolt"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
)

var ledgerBucket = []byte("records")

// Releases before this one wrote no seal into a ledger. OpenLedger puts a sealed copy in its place.
var ledgerLayout = layout{kind: "ledger", tables: []string{string(ledgerBucket)}, bare: true, check: checkForm}

func checkForm(_ int, rec []byte) error {
	if _, err := decodeForm(rec); err != nil {
		return core.Errorf(core.StoreCorrupt, "a record in it: %w", err)
	}
	return nil
}

// Ledger is a node.Store in one file. Safe for concurrent use.
//
// The file lies under the run directory, a tmpfs: records and CXI services die together at a reboot. So a commit need
// not reach a disk, only survive the death of the process, and it is written without fsync.
type Ledger struct{ *paged }

var _ node.Store = Ledger{}

// OpenLedger opens the ledger at path, or makes an empty one, for this process alone. It refuses a damaged file, also
// one that may lack only its last commit: a job that ended in it would be believed to run. Once the file is moved away,
// the node's services are unknown ones, which stay held and are shown.
//
// Errors are core.StoreLocked, core.StoreCorrupt and core.StoreFailed.
func OpenLedger(path string) (Ledger, error) {
	p, _, err := openPaged(path, ledgerLayout, func(*bbolt.Tx) error { return nil })
	if err != nil {
		return Ledger{}, ledgerError(err)
	}
	return Ledger{p}, nil
}

// ledgerError says what to do about a ledger.
func ledgerError(err error) error {
	e := core.AsError(err)
	if e != nil && e.Reason == core.StoreCorrupt {
		return e.WithRemedy("move it away and start again: " +
			"services of running jobs are then shown as unknown and stay held until they are gone")
	}
	return err
}

// Load tells every record.
func (l Ledger) Load(ctx context.Context, tell func(node.Record) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return ledgerError(err)
	}
	var told error
	err := l.view(func(tx *bbolt.Tx) error {
		told = tx.Bucket(ledgerBucket).ForEach(func(key, value []byte) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			r, err := decodeForm(bare(value))
			if err != nil {
				return core.Errorf(core.StoreCorrupt, "ledger: %s: record %q: %w", l.path, key, err)
			}
			return tell(r)
		})
		return nil
	})
	if err != nil {
		return ledgerError(err)
	}
	return told
}

// Commit writes all records or none. Without records it finds whether the ledger could be written.
func (l Ledger) Commit(_ context.Context, records []node.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil || len(records) == 0 {
		return ledgerError(err)
	}
	err := l.update(func(tx *bbolt.Tx) error {
		return sealed(tx, func(now *seal) error {
			for _, r := range records {
				key := []byte(r.Name())
				var value []byte
				if _, ok := r.(node.Delete); !ok {
					rec, err := encodeForm(r)
					if err != nil {
						return err
					}
					value = summed(rec, 0, 1, key)
				}
				if err := now.set(tx.Bucket(ledgerBucket), key, value); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return ledgerError(err)
}
