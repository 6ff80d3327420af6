package rundir

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
)

// MaxBypass is how far ahead the end of a bypass may lie: who forgets to end one does not run without Weft for ever.
const MaxBypass = 7 * 24 * time.Hour

// maxTime bounds the file of a bypass, in bytes.
const maxTime = 64

// WriteBypass lets hooks go by without Weft until a time.
func (d Dir) WriteBypass(until, now time.Time) error {
	switch {
	case !until.After(now):
		return core.Errorf(core.BadCall, "bypass until %s: it is over already", until.Format(time.RFC3339)).WithRemedy("give a time to come")
	case until.Sub(now) > MaxBypass:
		return core.Errorf(core.BadCall, "bypass until %s: it is more than 7 days ahead", until.Format(time.RFC3339)).WithRemedy("give a nearer time; it can be given again")
	}
	return d.put(core.NotAllowed, d.path(bypassName), []byte(until.UTC().Format(time.RFC3339)+"\n"))
}

// ClearBypass ends a bypass; where there is none it does nothing.
func (d Dir) ClearBypass() error {
	if err := remove(d.path(bypassName)); err != nil {
		return core.Errorf(core.NotAllowed, "%s: %w", d.path(bypassName), err)
	}
	return nil
}

// Bypass reports whether hooks go by without Weft now, and until when. The error is for a file that is not obeyed.
func (d Dir) Bypass(now time.Time) (until time.Time, on bool, err error) {
	path := d.path(bypassName)
	// Every hook of every job asks, and nearly always there is none: that must cost no error's text.
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, false, nil
	}
	text, err := d.read(path, maxTime, checkOwner)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, false, nil
	}
	if err != nil {
		return time.Time{}, false, err
	}
	until, err = time.Parse(time.RFC3339, strings.TrimSpace(string(text)))
	switch {
	case err != nil:
		return time.Time{}, false, core.Errorf(core.NotAllowed, "%s: it is not obeyed: it holds no time", path).WithRemedy("write it with `weft agent bypass --until TIME`")
	case until.Sub(now) > MaxBypass:
		return until, false, core.Errorf(core.NotAllowed, "%s: it is not obeyed: it ends more than 7 days from now", path).WithRemedy("write it with `weft agent bypass --until TIME`")
	}
	return until, until.After(now), nil
}
