package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Distrust is why a file is not believed. A nil one means that it is.
type Distrust struct {
	Path   string // of the file, or of the link or folder on the way to it that is at fault
	Why    string
	Remedy string
}

func (d *Distrust) Error() string { return d.Path + ": " + d.Why }

// maxLinks is how many symbolic links the kernel follows on one way.
const maxLinks = 40

// Trust returns nil if only root and the caller can change what is at path: the file or folder there, and each link and
// folder on the way. It begins at the root of the file system, so another user cannot replace a part that it has seen.
// Nothing needs to be at path yet.
func Trust(path string) *Distrust {
	path, err := filepath.Abs(path)
	if err != nil {
		return unseen(path, err)
	}
	at, rest, links, open := "/", strings.Split(path, "/"), 0, false
	for {
		info, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			if open {
				return &Distrust{at, "it is not there, and every user could make it", "choose a place that only root can write"}
			}
			return nil
		}
		if err != nil {
			return unseen(at, err)
		}
		// On the way through a folder such as /tmp, only the owner of an entry can replace it.
		sticky := info.IsDir() && info.Mode()&fs.ModeSticky != 0 && len(rest) > 0
		link := info.Mode()&fs.ModeSymlink != 0
		d := owned(at, info)
		if d == nil && !sticky && !link {
			d = written(at, info)
		}
		if d != nil || len(rest) == 0 && !link {
			return d
		}
		if link {
			target, err := os.Readlink(at)
			if links++; err == nil && links > maxLinks {
				err = syscall.ELOOP
			}
			if err != nil {
				return unseen(at, err)
			}
			if at = filepath.Dir(at); filepath.IsAbs(target) {
				at = "/"
			}
			rest = append(strings.Split(target, "/"), rest...)
		} else {
			open = sticky && written(at, info) != nil
		}
		at, rest = filepath.Join(at, rest[0]), rest[1:]
	}
}

// Owned is Trust for one file or folder alone, of which info tells.
func Owned(path string, info fs.FileInfo) *Distrust {
	if d := owned(path, info); d != nil {
		return d
	}
	return written(path, info)
}

func unseen(path string, err error) *Distrust {
	return &Distrust{path, Bare(err).Error(), "see what is there"}
}

func owned(path string, info fs.FileInfo) *Distrust {
	st, ok := info.Sys().(*syscall.Stat_t)
	uid := os.Geteuid()
	if ok && (st.Uid == 0 || int64(st.Uid) == int64(uid)) {
		return nil
	}
	why := fmt.Sprintf("it belongs neither to root nor to uid %d", uid)
	if ok && uid == 0 {
		why = fmt.Sprintf("it belongs to uid %d and not to root", st.Uid)
	}
	return &Distrust{path, why, "`chown -h root " + path + "`"}
}

func written(path string, info fs.FileInfo) *Distrust {
	mode := info.Mode().Perm()
	if mode&0o022 == 0 {
		return nil
	}
	return &Distrust{path, fmt.Sprintf("others than its owner can write it (mode %#o)", mode), "`chmod go-w " + path + "`"}
}

// Secret returns nil if only its owner can use the file at path, or if there is none.
func Secret(path string) *Distrust {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	why := fmt.Sprintf("others than its owner can use it (mode %#o)", info.Mode().Perm())
	path = absolute(path)
	return &Distrust{path, why, "`chmod 600 " + path + "`; if others could have read it, make a new one"}
}
