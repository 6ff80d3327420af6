// Package logtest gives tests a log that they can read.
package logtest

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// Journal is a log that a test reads.
type Journal struct {
	mu    sync.Mutex
	all   bytes.Buffer
	wrote chan struct{} // holds one
}

// New makes an empty journal.
func New() *Journal { return &Journal{wrote: make(chan struct{}, 1)} }

// Await waits for n lines with text: the connection may be closed before the line is written.
func (l *Journal) Await(t *testing.T, text string, n int) []string {
	t.Helper()
	for late := time.After(time.Minute); ; {
		if found := l.With(text); len(found) >= n {
			return found
		}
		select {
		case <-l.wrote:
		case <-late:
			t.Fatalf("%d lines with %q: the log has %q", n, text, l.With(""))
		}
	}
}

// Write takes one line.
func (l *Journal) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.wrote <- struct{}{}:
	default:
	}
	return l.all.Write(b)
}

// With gives the lines that contain text.
func (l *Journal) With(text string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.all.String()) {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// Logger writes to the journal.
func (l *Journal) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }
