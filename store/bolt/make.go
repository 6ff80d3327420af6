package bolt

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/store/record"
)

// makeStep is how many records are written in one transaction.
const makeStep = 4096

// Make makes a store at path, where there must be none, of the records that fill puts. A later one of a slot replaces
// an earlier one. Where Make fails there is no store. With a place that the records come from, no server may use the
// store before Move, and it may replace one whose copy from there has not ended.
func Make(path, from string, fill func(put func(rec []byte) error) error) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	held, err := storeLayout.hold(path)
	if err != nil {
		return err
	}
	defer func() { _ = unlock(held) }()
	if _, err := os.Lstat(path); err == nil {
		sh, err := storeLayout.verify(path)
		if err != nil || from == "" || sh.moved.From != from {
			return core.Errorf(core.BadCall, "store: %s: there is a store already", path).
				WithRemedy("move it away first; it is not overwritten")
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return storeLayout.failed(path, err)
	}
	if err := storeLayout.sweep(path); err != nil {
		return err
	}
	return storeLayout.guard(path, func() error {
		return storeLayout.replace(path, func(db *bbolt.DB) error { return take(db, from, fill) })
	})
}

func take(db *bbolt.DB, from string, fill func(put func(rec []byte) error) error) error {
	if err := storeLayout.furnish(db); err != nil {
		return err
	}
	var d record.Decoder
	var batch []put
	flush := func() error {
		err := db.Update(func(tx *bbolt.Tx) error { return apply(tx, batch) })
		batch = batch[:0]
		return err
	}
	err := fill(func(raw []byte) error {
		rec, err := d.Decode(raw)
		if err != nil {
			return err
		}
		p := put{at: rec.Slot(), key: appendKey(nil, rec.Slot())}
		p.value = summed(slices.Clone(raw), 0, int(p.at.Table), p.key)
		if batch = append(batch, p); len(batch) == makeStep {
			return flush()
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := flush(); err != nil || from == "" {
		return err
	}
	return db.Update(func(tx *bbolt.Tx) error { return move(tx, record.Move{From: from}) })
}
