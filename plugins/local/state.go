package local

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weft-hpc/weft/core"
)

// fileVersion is raised when a file of the release before could no longer be understood.
const fileVersion = 1

// maxFile bounds what is read of a table's file, in bytes.
const maxFile = 256 << 20

// file is a table as it lies on the disk.
type file struct {
	Version int     `json:"version"`
	Boot    string  `json:"boot"`
	Next    uint64  `json:"next"` // the number of the next job; never lower than one that was told
	Jobs    []Entry `json:"jobs"`
}

// load reads a table's file; one that is not there is a new table.
func load(path string) (file, error) {
	fresh := file{Version: fileVersion, Next: 1}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil
	}
	if err != nil {
		return file{}, core.Errorf(core.StoreFailed, "local jobs: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return file{}, core.Errorf(core.StoreFailed, "local jobs: %s: %w", path, err)
	}
	const mend = "move the file away: jobs that run now keep their services until they end or the node reboots"
	var got file
	if err := json.Unmarshal(b, &got); err != nil || len(b) > maxFile {
		return file{}, core.Errorf(core.StoreCorrupt, "local jobs: %s: it is damaged: %v", path, err).WithRemedy(mend)
	}
	switch {
	case got.Version > fileVersion:
		return file{}, core.Errorf(core.StoreNewer, "local jobs: %s: it has version %d and this release writes %d", path, got.Version, fileVersion)
	case got.Version < 1 || got.Next < 1:
		return file{}, core.Errorf(core.StoreCorrupt, "local jobs: %s: it is damaged: it has version %d and next number %d", path, got.Version, got.Next).WithRemedy(mend)
	}
	for _, e := range got.Jobs {
		if _, _, err := splitJob(e.Job); err != nil || e.PID <= 0 {
			return file{}, core.Errorf(core.StoreCorrupt, "local jobs: %s: it is damaged: job %q", path, core.Clip(e.Job)).WithRemedy(mend)
		}
	}
	return got, nil
}

// save replaces a table's file as a whole: at any moment it is the old one or the new one, and when save returns it is the new one even after a power cut.
func save(path string, v file) (err error) {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	made := path + ".new"
	f, err := os.OpenFile(made, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(made, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(made))
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
