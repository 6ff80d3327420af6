package demo

import (
	"bytes"
	"fmt"
	"io"

	"github.com/weft-hpc/weft/cmd/weft/job"
	"github.com/weft-hpc/weft/server"
)

func (s *story) chapter(title string) {
	s.number++
	fmt.Fprintf(s.out, "\n%s\n", s.paint("1", fmt.Sprintf("%d. %s", s.number, title)))
}

func (s *story) tell(format string, args ...any) {
	fmt.Fprintf(s.out, "   "+format+"\n", args...)
}

func (s *story) paint(code, text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// shown runs one of the operator's own printers, indented and with its command line above.
func (s *story) shown(command string, table func(io.Writer)) {
	var text bytes.Buffer
	table(&text)
	fmt.Fprintf(s.out, "   %s\n", s.paint("36", "$ "+command))
	for line := range bytes.Lines(text.Bytes()) {
		fmt.Fprintf(s.out, "     %s", line)
	}
}

// show prints the VNI as `weft vnis` does.
func (s *story) show(vni uint16, rows []server.VNIRow) {
	s.shown(fmt.Sprintf("weft vnis %d", vni), func(w io.Writer) { job.PrintVNIs(w, rows) })
}
