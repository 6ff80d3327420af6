package install

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weft-hpc/weft/core"
)

// Write makes the plan's changes, each of which is there whole or not at all.
func (p *Plan) Write() error {
	if len(p.Findings) > 0 {
		return core.Errorf(core.BadCall, "nothing is written while a finding refuses")
	}
	for _, c := range p.Changes {
		if err := c.write(); err != nil {
			return core.Errorf(core.BadCall, "%s: %w", c.Path, bare(err)).WithRemedy("run it again once that is mended: what is written already stays right")
		}
	}
	return nil
}

func (c Change) write() (err error) {
	dir := filepath.Dir(c.Path)
	if c.Gone {
		if err := os.Remove(c.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return sync(dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // every user's shell reads the plugin
		return err
	}
	f, err := os.CreateTemp(dir, ".weft-*") // neither Flux nor a shell looks at names that begin with a dot
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if err := f.Chmod(c.mode); err != nil {
		return err
	}
	if _, err := f.Write(c.Text); err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), c.Path); err != nil {
		return err
	}
	return sync(dir)
}

func sync(dir string) error {
	d, err := os.Open(dir) //nolint:gosec // an administrator names it
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
