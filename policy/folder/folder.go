// Package folder puts a policy's files in place of those of its folder, all at once.
package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/policy"
)

// Swap is a policy's folder and a second one beside it that can take its place.
type Swap struct {
	dir  string // links resolved
	next string
}

// Stage writes files beside dir, under their names without folder; dir itself is as it was. A folder in which anything else lies than a policy's files is
// refused: it would be lost.
func Stage(dir string, files []hclfile.Source) (*Swap, error) {
	s, err := look(dir)
	if err != nil {
		return nil, err
	}
	if err := s.write(files); err != nil {
		return nil, errors.Join(core.Errorf(core.BadConfig, "policy folder %s: the files cannot be written beside it: %w", dir, err), s.Drop())
	}
	return s, nil
}

func look(dir string) (*Swap, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	var entries []fs.DirEntry
	if err == nil {
		entries, err = os.ReadDir(real)
	}
	if err != nil {
		return nil, core.Errorf(core.BadConfig, "policy folder %s: it cannot be read: %w", dir, err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), policy.Suffix) {
			return nil, core.Errorf(core.BadConfig, "policy folder %s: %q lies in it, which is no policy file and would be lost", dir, core.Clip(e.Name())).
				WithRemedy("move it away; or change the files there yourself, and `weft reload`")
		}
	}
	return &Swap{real, filepath.Join(filepath.Dir(real), "."+filepath.Base(real)+".next")}, nil
}

// write makes the second folder, with the mode and the owner of the first; nothing of it is lost in a power cut from then on.
func (s *Swap) write(files []hclfile.Source) error {
	if err := os.RemoveAll(s.next); err != nil { // of one that was killed
		return err
	}
	info, err := os.Stat(s.dir)
	if err != nil {
		return err
	}
	if err := os.Mkdir(s.next, 0o700); err != nil {
		return err
	}
	how := file.Like(info)
	text := file.How{Mode: how.Mode & 0o644, Owner: how.Owner} // who may enter the folder may read its files
	seen := map[string]bool{}
	for _, f := range files {
		name := filepath.Base(f.Name)
		if seen[name] {
			return fmt.Errorf("two files have the name %s", name)
		}
		seen[name] = true
		if err := file.Replace(filepath.Join(s.next, name), f.Text, text); err != nil {
			return err
		}
	}
	if o := how.Owner; o != nil {
		if err := os.Lchown(s.next, int(o.UID), int(o.GID)); err != nil {
			return err
		}
	}
	if err := os.Chmod(s.next, how.Mode); err != nil {
		return err
	}
	return errors.Join(file.Sync(s.next), file.Sync(filepath.Dir(s.dir)))
}

// Exchange makes the one folder the other in one step; a second time it undoes that.
func (s *Swap) Exchange() error {
	if err := unix.Renameat2(unix.AT_FDCWD, s.next, unix.AT_FDCWD, s.dir, unix.RENAME_EXCHANGE); err != nil {
		return core.Errorf(core.BadConfig, "policy folder %s: it cannot be exchanged for %s: %w", s.dir, s.next, err)
	}
	return file.Sync(filepath.Dir(s.dir))
}

// Drop removes the folder beside: the new files, or after Exchange the old ones.
func (s *Swap) Drop() error { return os.RemoveAll(s.next) }
