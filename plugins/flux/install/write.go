package install

import (
	"os"
	"path/filepath"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
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

func (c Change) write() error {
	if c.Gone {
		return file.Remove(c.Path)
	}
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o755); err != nil { //nolint:gosec // every user's shell reads the plugin
		return err
	}
	return file.Replace(c.Path, c.Text, file.How{Mode: c.mode})
}
