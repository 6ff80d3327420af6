package connection

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// journal is a log that a test reads.
type journal struct {
	mu    sync.Mutex
	all   bytes.Buffer
	wrote chan struct{} // holds one
}

func newJournal() *journal { return &journal{wrote: make(chan struct{}, 1)} }

// await waits for n lines with text: the connection may be closed before the line is written.
func (l *journal) await(t *testing.T, text string, n int) []string {
	t.Helper()
	for late := time.After(time.Minute); ; {
		if found := l.with(text); len(found) >= n {
			return found
		}
		select {
		case <-l.wrote:
		case <-late:
			t.Fatalf("%d lines with %q: the log has %q", n, text, l.with(""))
		}
	}
}

func (l *journal) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.wrote <- struct{}{}:
	default:
	}
	return l.all.Write(b)
}

// with gives the lines that contain text.
func (l *journal) with(text string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.all.String()) {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

func (l *journal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }
