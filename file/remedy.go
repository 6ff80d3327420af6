package file

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
)

// ErrIrregular is the error for a FIFO, a folder or a device in the place of a file.
var ErrIrregular = errors.New("it is no regular file")

// Remedy tells a person how to repair the failure to open, read or write the file at path.
func Remedy(path string, err error) string {
	path = absolute(path)
	dir := filepath.Dir(path)
	is := func(kinds ...error) bool {
		for _, k := range kinds {
			if errors.Is(err, k) {
				return true
			}
		}
		return false
	}
	switch {
	case is(ErrIrregular, syscall.EISDIR, syscall.ELOOP, syscall.ENXIO):
		return "move " + path + " away; put back the file that belongs there, if you have it"
	case is(fs.ErrNotExist, syscall.ENOTDIR):
		return "make the folder " + dir + ", or correct the path of the file"
	case is(fs.ErrPermission):
		return "run it as the user who owns the folder " + dir + " and what lies in it"
	case is(syscall.ENOSPC, syscall.EDQUOT):
		return "free space in the file system of " + dir
	case is(syscall.EROFS):
		return "mount the file system of " + dir + " writable"
	}
	return "look in the kernel's log for errors of the file system of " + dir
}

// absolute is path for a person, who may be in another folder than the process.
func absolute(path string) string {
	if at, err := filepath.Abs(path); err == nil {
		return at
	}
	return path
}
