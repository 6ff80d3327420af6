package install

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
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
		if err := file.Remove(c.Path); err != nil {
			return err
		}
		if c.own {
			_ = syscall.Rmdir(filepath.Dir(c.Path)) // goes only when nothing is in it
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
		if err := file.Replace(path+Backup, now, file.Like(info)); err != nil {
			return err
		}
		return file.Replace(path, c.Text, file.Like(info))
	}
	if err := folder(filepath.Dir(path)); err != nil {
		return err
	}
	return file.Replace(path, c.Text, file.How{Mode: 0o755})
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
	return file.Sync(filepath.Dir(dir))
}
