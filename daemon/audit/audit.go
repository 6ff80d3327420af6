// Package audit writes who did what to the daemon's log or to a file of its own.
package audit

import (
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
)

type Log struct {
	*slog.Logger
	file *own // nil: its lines stand in the daemon's log
}

// own is a file of the audit's own. What cannot be written there stands in the daemon's log instead.
type own struct {
	path string
	log  *slog.Logger

	mu sync.Mutex
	f  *os.File
}

var _ io.Writer = (*own)(nil)

// Open opens the audit's file. An empty path is the daemon's log, where the audit's lines have a key.
func Open(path string, log *slog.Logger) (*Log, error) {
	if path == "" {
		return &Log{Logger: log.With(core.LogAudit, true)}, nil
	}
	f, err := file.Append(path)
	if err != nil {
		return nil, core.Errorf(core.BadConfig, "audit: %w", err).WithRemedy(file.Remedy(path, err))
	}
	a := &own{path: path, log: log, f: f}
	return &Log{slog.New(slog.NewJSONHandler(a, &slog.HandlerOptions{ReplaceAttr: shown})), a}, nil
}

// shown cleans a text of others for who reads the file on a terminal.
func shown(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindString {
		a.Value = slog.StringValue(strings.Map(core.Shown, a.Value.String()))
	}
	return a
}

// Reopen goes on in a file of the same name, as a rotation of logs asks. The open file stays in use where that cannot be,
// which the log says.
func (l *Log) Reopen() {
	a := l.file
	if a == nil {
		return
	}
	f, err := file.Append(a.path)
	if err != nil {
		a.log.Error("the audit goes on in the file that was open", core.LogError, err)
		return
	}
	a.mu.Lock()
	before := a.f
	a.f = f
	a.mu.Unlock()
	if err := before.Close(); err != nil {
		a.log.Error("the audit's former file may lack its last lines", core.LogError, err)
	}
}

func (l *Log) Close() error {
	if l.file == nil {
		return nil
	}
	l.file.mu.Lock()
	defer l.file.mu.Unlock()
	return l.file.f.Close()
}

func (a *own) Write(line []byte) (int, error) {
	a.mu.Lock()
	n, err := a.f.Write(line)
	a.mu.Unlock()
	if err != nil {
		a.log.Error("the audit's file cannot be written; its line stands here", core.LogAudit, true, core.LogError, err, core.LogWhy, string(line))
	}
	return n, err
}
