package history

import (
	"fmt"
	"strings"
)

// trace keeps the last events of a history for a person. Histories run without one; the seed of a failed one is run again with it.
type trace struct {
	lines []string
	next  int
	total int
}

const traceLines = 50

func newTrace() *trace { return &trace{lines: make([]string, traceLines)} }

func (t *trace) add(w *world, text string) {
	t.lines[t.next] = fmt.Sprintf("%4d %9.3fs  %s", w.step, w.now.Seconds(), text)
	t.next = (t.next + 1) % len(t.lines)
	t.total++
}

func (t *trace) String() string {
	var b strings.Builder
	for i := range t.lines {
		if l := t.lines[(t.next+i)%len(t.lines)]; l != "" {
			b.WriteString("  " + l + "\n")
		}
	}
	return b.String()
}
