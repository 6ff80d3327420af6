package local

import (
	"encoding/json"
	"errors"
	"io/fs"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
)

// fileVersion is raised when a file of the release before could no longer be understood.
const fileVersion = 1

// maxFile bounds what is read of a table's file, in bytes.
const maxFile = 256 << 20

// saved is a table as it lies on the disk.
type saved struct {
	Version int     `json:"version"`
	Boot    string  `json:"boot"`
	Next    uint64  `json:"next"` // the number of the next job; never lower than one that was told
	Jobs    []Entry `json:"jobs"`
}

// load reads a table's file; one that is not there is a new table.
func load(path string) (saved, error) {
	fresh := saved{Version: fileVersion, Next: 1}
	b, err := file.Read(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil
	}
	if err != nil {
		return saved{}, core.Errorf(core.StoreFailed, "local jobs: %s: %w", path, file.Bare(err)).
			WithRemedy(file.Remedy(path, err))
	}
	const mend = "move the file away: jobs that run now keep their services until they end or the node reboots"
	var got saved
	if err := json.Unmarshal(b, &got); err != nil {
		return saved{}, core.Errorf(core.StoreCorrupt, "local jobs: %s: it is damaged: %v", path, err).WithRemedy(mend)
	}
	switch {
	case got.Version > fileVersion:
		return saved{}, core.Errorf(core.StoreNewer, "local jobs: %s: it has version %d and this release writes %d", path, got.Version, fileVersion)
	case got.Version < 1 || got.Next < 1:
		return saved{}, core.Errorf(core.StoreCorrupt, "local jobs: %s: it is damaged: it has version %d and next number %d", path, got.Version, got.Next).WithRemedy(mend)
	}
	for _, e := range got.Jobs {
		if _, _, err := splitJob(e.Job); err != nil || e.PID <= 0 {
			return saved{}, core.Errorf(core.StoreCorrupt, "local jobs: %s: it is damaged: job %q", path, core.Clip(e.Job)).WithRemedy(mend)
		}
	}
	return got, nil
}

// save replaces a table's file as a whole: at any moment it is the old one or the new one, and when save returns it is the new one even after a power cut.
func save(path string, v saved) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return file.Replace(path, b, file.How{Mode: 0o600})
}
