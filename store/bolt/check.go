package bolt

import (
	"path/filepath"

	"github.com/weft-hpc/weft/store/record"
)

// Check reads the store at path, which no process may use, tells each fault of it, and gives where it was copied to. It
// changes nothing. Its own error is that of Open, where the check cannot go on.
func Check(path string, tell func(error)) (record.Move, error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	held, err := storeLayout.hold(path)
	if err != nil {
		return record.Move{}, err
	}
	defer func() { _ = unlock(held) }()
	l, between := storeLayout, record.Checker{Tell: tell}
	l.tell = tell
	var d record.Decoder
	l.check = func(table int, rec []byte) error {
		err := checkTable(table, rec)
		if err != nil {
			return err
		}
		r, err := d.Decode(rec)
		if err == nil {
			between.Take(r)
		}
		return err
	}
	sh, err := l.verify(path)
	if err == nil {
		between.End()
	}
	return sh.moved, err
}
