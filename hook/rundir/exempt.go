package rundir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// maxBoot bounds a boot id's file, in bytes.
const maxBoot = 256

// Exempt lets tasks of a job run without a record: it began before the agent did, or while Weft was bypassed.
func (d Dir) Exempt(job core.JobID) error {
	path, err := d.ofJob(exempts, job)
	if err != nil {
		return err
	}
	if err := d.Check(); err != nil {
		return err
	}
	if err := makeFolders(filepath.Dir(path)); err != nil {
		return core.Errorf(core.BadConfig, "%s: %w", path, err)
	}
	if err := place(path, nil, 0o644, uint32(os.Geteuid()), uint32(os.Getegid())); err != nil {
		return core.Errorf(core.BadConfig, "%s: %w", path, err)
	}
	return nil
}

// Unexempt ends that: the job is over, or was prepared.
func (d Dir) Unexempt(job core.JobID) error {
	path, err := d.ofJob(exempts, job)
	if err != nil {
		return err
	}
	return remove(path)
}

// Exempted reports whether tasks of a job run without a record. Any doubt means that they do not.
func (d Dir) Exempted(job core.JobID) bool {
	path, err := d.ofJob(exempts, job)
	if err != nil {
		return false
	}
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular() && checkOwner(path, info) == nil && d.checkWay(path) == nil
}

// FirstStart reports whether the agent has not yet started in this boot; exemptions of a boot before end with it. Jobs that run now are to be exempted
// before NoteStart.
func (d Dir) FirstStart(boot string) (bool, error) {
	text, err := d.read(d.path(bootName), maxBoot, checkOwner)
	switch {
	case err == nil && strings.TrimSpace(string(text)) == boot:
		return false, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return false, err
	case err != nil: // a run directory that was never used: what is exempt in it, weft-hook let go by before the agent's first start
		return true, nil
	}
	if err := os.RemoveAll(d.path(exempts)); err != nil {
		return false, core.Errorf(core.BadConfig, "%s: %w", d.path(exempts), err)
	}
	return true, nil
}

// NoteStart says that the agent has started in this boot.
func (d Dir) NoteStart(boot string) error {
	if err := d.Check(); err != nil {
		return err
	}
	if err := place(d.path(bootName), []byte(boot+"\n"), 0o644, uint32(os.Geteuid()), uint32(os.Getegid())); err != nil {
		return core.Errorf(core.BadConfig, "%s: %w", d.path(bootName), err)
	}
	return nil
}
