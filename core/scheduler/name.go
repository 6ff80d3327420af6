package scheduler

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable reports whether policy may decide on a name: a person sees all of its characters.
func Printable(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) })
}
