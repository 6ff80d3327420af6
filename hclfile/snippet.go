package hclfile

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

const widest = 160 // characters of a line that a Finding shows

// starts are where the lines of text begin.
func starts(text []byte) []int {
	out := []int{0}
	for i, c := range text {
		if c == '\n' {
			out = append(out, i+1)
		}
	}
	return out
}

// line is line n of the file, counted from 1, with nothing in it that could move a terminal's cursor.
func (f *File) line(n int) string {
	if n < 1 || n > len(f.starts) {
		return ""
	}
	text := f.Text[f.starts[n-1]:]
	line, _, _ := bytes.Cut(text[:min(len(text), widest*utf8.UTFMax+1)], []byte("\n"))
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
