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

// MaxTold bounds a text of core.Told, in bytes.
const MaxTold = 256

// Told is a text as policy may decide on it, or nil, unknown, where it is longer than MaxTold or not Printable.
func Told(text string) *string {
	if len(text) > MaxTold || !Printable(text) {
		return nil
	}
	return &text
}
