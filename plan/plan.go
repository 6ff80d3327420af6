// Package plan holds the findings and the changes of an installer, before it changes anything.
package plan

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
)

// Level is how much a finding weighs.
type Level string

// The levels. One refusal keeps Weft out.
const (
	Fine    Level = "ok"
	Warning Level = "warning"
	Refusal Level = "refusal"
)

// Finding is a fact about the scheduler or the host that matters to Weft.
type Finding struct {
	Level   Level  `json:"level"`
	Setting string `json:"setting"`
	File    string `json:"file,omitempty"` // of the setting; "": it has its default
	Line    int    `json:"line,omitempty"`
	What    string `json:"what"`
	Remedy  string `json:"remedy,omitempty"`
}

// Place is the file and the line of the finding's setting, or "" where the setting has its default.
func (f Finding) Place() string {
	if f.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

// Backup is the end of the name of a site file's copy from before the last change.
const Backup = ".weft-old"

// Change is a change to one file.
type Change struct {
	Path string
	Text []byte
	Was  []byte      // nil: it is new
	Gone bool        // it is removed
	Mode fs.FileMode // of a file of Weft's; 0 where Site is set
	Site bool        // it is the site's: it keeps owner, mode and link, and Backup keeps the old text
	Own  bool        // its folder is Weft's, and goes with the last file

	Brief bool // a person need not read Text
}

// Action names the kind of the change: "remove", "create" or "change".
func (c Change) Action() string {
	switch {
	case c.Gone:
		return "remove"
	case c.Was == nil:
		return "create"
	}
	return "change"
}

// Plan is the plan of an installation or of its removal.
type Plan struct {
	Findings []Finding
	Changes  []Change // in the order of the writes
}

// Add adds a finding that has no place in a file.
func (p *Plan) Add(level Level, setting, remedy, format string, args ...any) {
	f := Finding{Level: level, Setting: setting, What: fmt.Sprintf(format, args...), Remedy: remedy}
	p.Findings = append(p.Findings, f)
}

// Refused reports whether a finding keeps Weft out.
func (p *Plan) Refused() bool {
	return slices.ContainsFunc(p.Findings, func(f Finding) bool { return f.Level == Refusal })
}

// Write makes the changes, each whole or not at all. After an error it can run again on a new plan.
func (p *Plan) Write() error {
	if p.Refused() {
		return core.Errorf(core.BadCall, "nothing is written while a finding refuses")
	}
	for _, c := range p.Changes {
		if err := c.write(); err != nil {
			return core.Errorf(core.BadCall, "%s: %w", c.Path, file.Bare(err)).
				WithRemedy("fix that and run it again: it completes the files")
		}
	}
	return nil
}

func (c Change) write() error {
	switch {
	case c.Gone:
		err := file.Remove(c.Path)
		if err == nil && c.Own {
			_ = syscall.Rmdir(filepath.Dir(c.Path)) // goes only when nothing is in it
		}
		return err
	case c.Site:
		return c.edit()
	}
	if err := folder(filepath.Dir(c.Path)); err != nil {
		return err
	}
	return file.Replace(c.Path, c.Text, file.How{Mode: c.Mode})
}

// edit changes a file of the site's, unless its text is not Was any more.
func (c Change) edit() error {
	path, err := filepath.EvalSymlinks(c.Path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	var now []byte
	if info.Size() == int64(len(c.Was)) {
		now, err = os.ReadFile(path)
	}
	if err != nil {
		return err
	}
	if !bytes.Equal(now, c.Was) {
		return errors.New("another process has changed it meanwhile")
	}
	if err := file.Replace(path+Backup, now, file.Like(info)); err != nil {
		return err
	}
	return file.Replace(path, c.Text, file.Like(info))
}

// folder makes one that every user may enter, whatever the umask.
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
