package daemon

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"sync"
	"syscall"

	"github.com/weft-hpc/weft/core"
)

// auditFile is a file of the audit's own. What cannot be written there stands in the daemon's log instead.
type auditFile struct {
	path string
	log  *slog.Logger

	mu sync.Mutex
	f  *os.File
}

var _ io.Writer = (*auditFile)(nil)

// openAudit gives the audit's logger, which a file that reopen opens anew when it was renamed, and close. An empty path is the daemon's log, where the
// audit's lines have a key.
func openAudit(path string, log *slog.Logger) (audit *slog.Logger, reopen func(), closing func() error, err error) {
	if path == "" {
		return log.With(core.LogAudit, true), func() {}, func() error { return nil }, nil
	}
	a := &auditFile{path: path, log: log}
	if a.f, err = a.open(); err != nil {
		return nil, nil, nil, err
	}
	return slog.New(slog.NewJSONHandler(a, nil)), a.reopen, a.close, nil
}

// open makes the file where there is none. It is root's to read, whatever it was.
func (a *auditFile) open() (*os.File, error) {
	f, err := os.OpenFile(a.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, core.Errorf(core.BadConfig, "audit: %w", err).WithRemedy("make its folder, or name another file; it may be no symbolic link")
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = errors.New("it is no plain file")
	case info.Mode().Perm() != 0o600:
		err = f.Chmod(0o600)
	}
	if err != nil {
		return nil, core.Errorf(core.BadConfig, "audit: %s: %w", a.path, errors.Join(err, f.Close()))
	}
	return f, nil
}

// reopen goes on in a file of the same name, as whoever renames logs asks for. The one at hand stays where that cannot be.
func (a *auditFile) reopen() {
	f, err := a.open()
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

// Write takes one line.
func (a *auditFile) Write(line []byte) (int, error) {
	a.mu.Lock()
	n, err := a.f.Write(line)
	a.mu.Unlock()
	if err != nil {
		a.log.Error("the audit's file cannot be written; its line stands here", core.LogAudit, true, core.LogError, err, core.LogWhy, string(line))
	}
	return n, err
}

func (a *auditFile) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.f.Close()
}
