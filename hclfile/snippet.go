package hclfile

import (
	"bytes"
	"strings"
	"unicode"
)

const widest = 160 // characters of a line that a Finding shows

// lineAt is line n of text, counted from 1, with nothing in it that could move a terminal's cursor.
func lineAt(text []byte, n int) string {
	for ; n > 1; n-- {
		_, rest, found := bytes.Cut(text, []byte("\n"))
		if !found {
			return ""
		}
		text = rest
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return Printable(string(bytes.TrimSuffix(line, []byte("\r"))), widest)
}

// Printable replaces what a terminal would obey or a line of a log would break at, and cuts after most characters.
func Printable(s string, most int) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n++; n > most {
			return b.String() + "…"
		}
		switch {
		case r == '\t':
			b.WriteByte(' ')
		case !unicode.IsPrint(r):
			b.WriteByte('?')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
