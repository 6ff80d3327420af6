// Package file reads a file within a bound, and replaces a file as a whole: a reader finds the old text or the new one,
// even after a crash. It also opens files that only grow.
package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// How says how Replace makes the new file.
type How struct {
	Mode     fs.FileMode // whatever the umask
	Owner    *Owner      // nil: the caller
	Volatile bool        // it need not survive a power cut: nothing is synced
}

// Owner is a user and a group.
type Owner struct{ UID, GID uint32 }

// Like is the mode and the owner of an existing file.
func Like(info fs.FileInfo) How {
	h := How{Mode: info.Mode().Perm()}
	st, ok := info.Sys().(*syscall.Stat_t)
	if ok && (int64(st.Uid) != int64(os.Geteuid()) || int64(st.Gid) != int64(os.Getegid())) {
		h.Owner = &Owner{st.Uid, st.Gid}
	}
	return h
}

// Replace puts text in the place of the file at path, or makes that file. The new file has its mode and owner before it
// has its name; until then its name begins with a dot, and Sweep removes it after a crash. Replace replaces a symbolic
// link, not the file behind it.
func Replace(path string, text []byte, how How) error {
	return Write(path, how, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// Write is Replace with the text that fill writes. Where fill fails, the file stays as it was.
func Write(path string, how How, fill func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+unnamed+"*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if err := fill(f); err != nil {
		return err
	}
	if err := f.Chmod(how.Mode); err != nil {
		return err
	}
	if how.Owner != nil {
		if err := f.Chown(int(how.Owner.UID), int(how.Owner.GID)); err != nil {
			return err
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	if how.Volatile {
		return os.Rename(f.Name(), path)
	}
	return Rename(f.Name(), path)
}

// Rename gives a file another name in its folder. Its text and the new name survive a power cut.
func Rename(from, to string) error {
	if err := Sync(from); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return Sync(filepath.Dir(to))
}

// unnamed is in the name of every file that Replace has not named yet.
const unnamed = ".weft-"

// Sweep removes the files that a killed Replace left in a folder. No Replace may be at work there. A folder that is not
// there is no error.
func Sweep(dir string) error {
	all, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, f := range all {
		if strings.HasPrefix(f.Name(), ".") && strings.Contains(f.Name(), unnamed) {
			err = errors.Join(err, os.Remove(filepath.Join(dir, f.Name())))
		}
	}
	return err
}

// Append opens the file at path to write at its end, or makes it. The file is the caller's alone to read, whatever its
// mode was. A link or anything else that is not a regular file is an error.
func Append(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s: %w", path, ErrIrregular)
	default:
		err = f.Chmod(0o600)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Remove removes a file for good. A file that is not there is no error.
func Remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return Sync(filepath.Dir(path))
}

// Sync makes a file's text, or a folder's list of names, survive a power cut.
func Sync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Bare is err without the path that it repeats.
func Bare(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
