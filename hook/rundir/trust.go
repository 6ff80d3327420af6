package rundir

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
)

// Check refuses a run directory that somebody else than root or the caller can change.
func (d Dir) Check() error {
	if d == "" {
		return core.Errorf(core.BadCall, "run directory: it has no name")
	}
	return checkFolder(string(d))
}

// checkWay is Check for the folder of path, which is below d, and for every folder between them.
func (d Dir) checkWay(path string) error {
	if err := d.Check(); err != nil {
		return err
	}
	rel, err := filepath.Rel(string(d), filepath.Dir(path))
	if err != nil || rel == "." {
		return err
	}
	at := string(d)
	for _, name := range strings.Split(rel, string(filepath.Separator)) {
		at = filepath.Join(at, name)
		if err := checkFolder(at); err != nil {
			return err
		}
	}
	return nil
}

func checkFolder(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return missing(path, err)
	}
	if !info.IsDir() {
		return distrust(path, "it is no folder, or a symbolic link, which anybody could have made")
	}
	return checkOwner(path, info)
}

// checkOwner wants root or the caller as the owner, and nobody else to be able to write.
func checkOwner(path string, info fs.FileInfo) error {
	if d := file.Owned(path, info); d != nil {
		return distrust(path, d.Why)
	}
	return nil
}

func distrust(path, why string) error {
	return core.Errorf(core.NotAllowed, "%s: it is not believed: %s", path, why).WithRemedy("see who made it; the agent makes all that is in its run directory")
}

// missing keeps fs.ErrNotExist, by which callers tell what is not there from what cannot be used.
func missing(path string, err error) error {
	err = file.Bare(err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return core.Errorf(core.NotThere, "%s: %w", path, err).WithRemedy("start `weft agent` on this node, or give its run directory with --dir")
	case errors.Is(err, syscall.ELOOP):
		return distrust(path, "it is a symbolic link, which anybody could have made")
	}
	return core.Errorf(core.NotAllowed, "%s: %w", path, err).WithRemedy("run it as root, or see who may read it")
}

// open opens a regular file that nobody but accept's choice of owners can have filled. It waits for nothing, whatever lies there.
func (d Dir) open(path string, flag int, accept func(path string, info fs.FileInfo) error) (*os.File, error) {
	if err := d.checkWay(path); err != nil {
		return nil, err
	}
	return openRegular(path, flag, accept)
}

// openRegular is open for a path whose folders are checked. A file that it makes is for its owner alone.
func openRegular(path string, flag int, accept func(path string, info fs.FileInfo) error) (*os.File, error) {
	f, err := os.OpenFile(path, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, missing(path, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = distrust(path, "it is no file")
	}
	if err == nil {
		err = accept(path, info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// read reads a whole file of at most limit bytes.
func (d Dir) read(path string, limit int, accept func(path string, info fs.FileInfo) error) ([]byte, error) {
	f, err := d.open(path, os.O_RDONLY, accept)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var text bytes.Buffer
	// What is there in one piece: each size in between would touch memory of its own, and that is most of what a short program's time goes to.
	if info, err := f.Stat(); err == nil {
		text.Grow(int(min(info.Size(), int64(limit))) + bytes.MinRead)
	}
	if _, err := text.ReadFrom(io.LimitReader(f, int64(limit)+1)); err != nil {
		return nil, missing(path, err)
	}
	if text.Len() > limit {
		return nil, core.Errorf(core.NotAllowed, "%s: it has more than %d bytes", path, limit).WithRemedy("see what wrote it; the agent writes it anew when it starts")
	}
	return text.Bytes(), nil
}

// put writes a file that everybody may read.
func (d Dir) put(failed core.Reason, path string, text []byte) error {
	if err := d.Check(); err != nil {
		return err
	}
	if err := place(path, text, 0o644, uint32(os.Geteuid()), uint32(os.Getegid())); err != nil {
		return core.Errorf(failed, "%s: %w", path, err)
	}
	return nil
}

// place puts a file in the stead of what is at path: whole or not at all, with its mode and owner from the first moment. An owner is set by root only.
func place(path string, text []byte, mode fs.FileMode, uid, gid uint32) error {
	how := file.How{Mode: mode, Volatile: true} // the folder is on a tmpfs
	if os.Geteuid() == 0 {
		how.Owner = &file.Owner{UID: uid, GID: gid}
	}
	return file.Replace(path, text, how)
}

// remove removes a file; one that is not there is no error.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return err
	}
	return nil
}

// makeFolders makes a scheduler's folder and the one that it is in: to pass through, not to list, whatever the umask.
func makeFolders(path string) error {
	for _, p := range []string{filepath.Dir(path), path} {
		err := os.Mkdir(p, 0o711)
		if err == nil {
			err = os.Chmod(p, 0o711)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}
