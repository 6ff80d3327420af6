package scheduler

import (
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/weft-hpc/weft/core"
)

// Duration sets to where the block has a value for field, a time from 1 s to most. The error is a core.PathError.
func Duration(block core.Values, field string, to *time.Duration, most time.Duration) error {
	v, given := block[field].(time.Duration)
	switch {
	case !given:
	case v < time.Second || v > most:
		return Bad(field, "%s is not from 1s to %s", v, most)
	default:
		*to = v
	}
	return nil
}

// Path sets to where the block has a value for field, an absolute path. The error is a core.PathError.
func Path(block core.Values, field string, to *string) error {
	v, given := block[field].(string)
	switch {
	case !given:
	case !path.IsAbs(v) || path.Clean(v) != v:
		return Bad(field, "%q is no absolute path", core.Clip(v))
	default:
		*to = v
	}
	return nil
}

// Bad is the error of a value of a block that an adapter cannot use.
func Bad(field, format string, args ...any) error {
	return &core.PathError{Path: []string{field}, Err: core.Errorf(core.BadConfig, field+": "+format, args...)}
}

// Printable reports whether policy may decide on a name: a person sees all of its characters.
func Printable(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) })
}
