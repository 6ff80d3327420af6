package install

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/weft-hpc/weft/core"
)

// Backup is what is put behind a file's name for what it held before the last change.
const Backup = ".weft-old"

// Write makes the plan's changes, each of which is there whole or not at all. One that was cut short is completed by planning and writing again.
func (p *Plan) Write() error {
	if p.Refused() {
		return core.Errorf(core.BadCall, "nothing is written while a finding refuses")
	}
	for _, c := range p.Changes {
		if err := c.write(); err != nil {
			return core.Errorf(core.BadCall, "%s: %w", c.Path, bare(err)).WithRemedy("run it again once that is mended: what is written already stays right")
		}
	}
	return nil
}

func (c Change) write() error {
	if c.Gone {
		if err := os.Remove(c.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		dir := filepath.Dir(c.Path)
		if err := syncDir(dir); err != nil {
			return err
		}
		if c.own {
			_ = syscall.Rmdir(dir) // goes only when nothing is in it
		}
		return nil
	}
	path := c.Path
	if c.Conf {
		real, err := filepath.EvalSymlinks(path) // a link to slurm.conf stays one
		if err != nil {
			return err
		}
		path = real
		now, err := readFile(path)
		if err != nil {
			return err
		}
		if !bytes.Equal(now, c.Was) {
			return errors.New("somebody else has changed it meanwhile")
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if err := put(path+Backup, now, info); err != nil {
			return err
		}
		return put(path, c.Text, info)
	}
	if err := folder(filepath.Dir(path)); err != nil {
		return err
	}
	return put(path, c.Text, nil)
}

// folder makes one that everybody may enter, whatever the umask.
func folder(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := folder(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

// put replaces a file in one moment: with like's owner and mode, or as a program for everybody. Until then it has a name that no pattern finds.
func put(path string, text []byte, like fs.FileInfo) (err error) {
	dir, base := filepath.Split(path)
	f, err := os.CreateTemp(dir, "."+base+".weft-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	mode := fs.FileMode(0o755)
	if like != nil {
		mode = like.Mode().Perm()
		st, ok := like.Sys().(*syscall.Stat_t)
		if ok && (int64(st.Uid) != int64(os.Geteuid()) || int64(st.Gid) != int64(os.Getegid())) {
			if err := f.Chown(int(st.Uid), int(st.Gid)); err != nil {
				return err
			}
		}
	}
	if err := f.Chmod(mode); err != nil {
		return err
	}
	if _, err := f.Write(text); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
