package demo

import (
	"bytes"
	"fmt"
	"io"
)

func (s *story) chapter(title string) {
	s.number++
	fmt.Fprintf(s.out, "\n%s\n", s.paint("1", fmt.Sprintf("%d. %s", s.number, title)))
}

func (s *story) tell(format string, args ...any) {
	fmt.Fprintf(s.out, "   "+format+"\n", args...)
}

// paint colours text on a terminal only.
func (s *story) paint(code, text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// shown runs one of the operator's own printers, indented and with its command line above.
func (s *story) shown(command string, table func(io.Writer)) {
	fmt.Fprintf(s.out, "   %s\n", s.paint("36", "$ "+command))
	w := &indent{w: s.out}
	table(w)
}

// indent sets what an operator would see apart from the story.
type indent struct {
	w   io.Writer
	mid bool
}

func (i *indent) Write(b []byte) (int, error) {
	for line := range bytes.SplitAfterSeq(b, []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		if !i.mid {
			if _, err := io.WriteString(i.w, "     "); err != nil {
				return 0, err
			}
		}
		if _, err := i.w.Write(line); err != nil {
			return 0, err
		}
		i.mid = line[len(line)-1] != '\n'
	}
	return len(b), nil
}
