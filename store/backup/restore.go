package backup

import (
	"crypto/rand"
	"io"
	"time"

	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/record"
)

// Restore puts the records of a backup, and behind them the Meta of a new store: it has another id, and is Recovering
// since now. Its server grants nothing before all nodes have reported, since the changes after the backup are unknown.
// An error of put is returned as it is; name and other errors are those of Read.
func Restore(name string, r io.Reader, now time.Time, put func(rec []byte) error) error {
	meta := engine.Meta{}
	err := Read(name, r, func(rec engine.Record, raw []byte) error {
		if m, ok := rec.(engine.Meta); ok {
			meta = m
		}
		return put(raw) // as it is: a later release may have written facts that rec lacks
	})
	if err != nil {
		return err
	}
	meta.Head.Store = rand.Text()
	meta.Head.Revision++
	meta.Recovering, meta.Without, meta.Unwitnessed, meta.New = now, nil, false, false
	last, err := record.Append(nil, meta)
	if err != nil {
		return err
	}
	return put(last)
}
