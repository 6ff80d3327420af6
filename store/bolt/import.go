package bolt

import (
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// importStep is how many records are written in one transaction.
const importStep = 4096

// Import makes a store at path, where there must be none, of what Export wrote. It is a new store, with an id of its own, and its Meta is Recovering
// since now: nothing is granted from it before all nodes have reported, since nobody knows what happened after the export. Where Import fails there is no
// store.
func Import(path string, r io.Reader, now time.Time) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	held, err := storeLayout.hold(path)
	if err != nil {
		return err
	}
	defer func() { _ = unlock(held) }()
	if _, err := os.Lstat(path); err == nil {
		return core.Errorf(core.BadCall, "store: %s: there is a store already", path).WithRemedy("move it away first; it is not overwritten")
	} else if !errors.Is(err, os.ErrNotExist) {
		return storeLayout.failed(path, err)
	}
	if err := storeLayout.sweep(path); err != nil {
		return err
	}
	return storeLayout.guard(path, func() error {
		return storeLayout.replace(path, func(db *bbolt.DB) error { return take(db, r, now) })
	})
}

func take(db *bbolt.DB, r io.Reader, now time.Time) error {
	if err := storeLayout.furnish(db); err != nil {
		return err
	}
	meta := engine.Meta{}
	var batch []put
	flush := func() error {
		err := db.Update(func(tx *bbolt.Tx) error { return apply(tx, batch) })
		batch = batch[:0]
		return err
	}
	err := readExport(r, func(rec engine.Record, raw []byte) error {
		if m, ok := rec.(engine.Meta); ok {
			meta = m
		}
		// As it is: a later release may have written facts that rec lacks.
		p := put{at: rec.Slot(), key: appendKey(nil, rec.Slot())}
		p.value = summed(slices.Clone(raw), 0, int(p.at.Table), p.key)
		if batch = append(batch, p); len(batch) == importStep {
			return flush()
		}
		return nil
	})
	if err != nil {
		return err
	}
	meta.Head.Store = rand.Text()
	meta.Head.Revision++
	meta.Recovering, meta.Without, meta.Unwitnessed, meta.New = now, nil, false, false
	last, err := encode([]engine.Record{meta})
	if err != nil {
		return err
	}
	batch = append(batch, last...)
	return flush()
}
