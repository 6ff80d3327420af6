package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
)

// Environ is what a file under the environment's folder holds. Only the job's owner can read it: it may carry a session token.
type Environ struct {
	Generation uint32          `json:"generation"`
	UID        uint32          `json:"uid"`
	Submitted  int64           `json:"submitted"`
	Variables  []core.Variable `json:"variables"`
}

// EnvironPath is where the environment of a job lies below folder.
func EnvironPath(folder string, job core.JobID) string {
	return filepath.Join(folder, job.Scheduler, job.Job)
}

// publish leaves the environment for the job's tasks, so that 192 of them that start at once read a file and nobody's socket.
func (a *Agent) publish(p node.Publish) error {
	if a.needs.Environ == "" {
		return nil
	}
	path := EnvironPath(a.needs.Environ, p.Run.JobID)
	if err := os.MkdirAll(filepath.Dir(path), 0o711); err != nil {
		return fmt.Errorf("environment of %s: %w", p.Run.JobID, err)
	}
	text, err := json.Marshal(Environ{p.Run.Generation, p.Run.UID, p.Run.Submitted, p.Environment})
	if err != nil {
		return fmt.Errorf("environment of %s: %w", p.Run.JobID, err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return fmt.Errorf("environment of %s: %w", p.Run.JobID, err)
	}
	err = writeOwned(f, text, p.Run.UID, p.GID)
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("environment of %s: %w", p.Run.JobID, err)
	}
	return nil
}

// writeOwned fills f, which nobody but root could read until now, and hands it to its owner. An agent that is not root (a demo of one user) keeps it.
func writeOwned(f *os.File, text []byte, uid, gid uint32) error {
	if _, err := f.Write(text); err != nil {
		return err
	}
	if err := f.Chmod(0o400); err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return nil
	}
	return f.Chown(int(uid), int(gid))
}

// withdraw removes the environment of run; one of a later run stays.
func (a *Agent) withdraw(run core.Run) error {
	if a.needs.Environ == "" {
		return nil
	}
	path := EnvironPath(a.needs.Environ, run.JobID)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("environment of %s: %w", run.JobID, err)
	}
	var e Environ
	if json.Unmarshal(text, &e) == nil && (e.Generation != run.Generation || e.UID != run.UID || e.Submitted != run.Submitted) {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("environment of %s: %w", run.JobID, err)
	}
	return nil
}
