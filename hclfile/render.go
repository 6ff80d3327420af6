package hclfile

import (
	"fmt"
	"io"
	"strings"

	"github.com/weft-hpc/weft/core"
)

const (
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"
)

// Text writes findings for a person: place, what, the line with a mark under it, and what to do. Colour is for terminals only.
func Text(w io.Writer, findings []Finding, colour bool) error {
	var b strings.Builder
	for _, f := range findings {
		f.text(&b, colour)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (f Finding) text(b *strings.Builder, colour bool) {
	on, off := "", ""
	if colour {
		on, off = red, plain
		if f.Severity != Error {
			on = yellow
		}
	}
	if place := f.place(); place != "" {
		b.WriteString(place + ": ")
	}
	fmt.Fprintf(b, "%s%s%s: %s", on, f.Severity, off, core.Flat(f.Summary)) // a plugin's, maybe
	if f.Suggestion != "" {
		fmt.Fprintf(b, "; did you mean %q?", f.Suggestion)
	}
	b.WriteByte('\n')
	if f.Snippet != "" {
		fmt.Fprintf(b, "%6d | %s\n", f.Line, f.Snippet)
		shown := len([]rune(f.Snippet))
		if at := f.Column - 1; at >= 0 && at <= shown {
			marks := max(1, min(f.Length, shown-at))
			fmt.Fprintf(b, "       | %s%s%s%s\n", strings.Repeat(" ", at), on, strings.Repeat("^", marks), off)
		}
	}
	for line := range strings.Lines(strings.Map(core.Shown, f.Detail)) {
		b.WriteString("         " + strings.TrimSuffix(line, "\n") + "\n")
	}
}
