package host

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-plugin"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
)

// Program is what a plugin's process runs.
type Program struct {
	Path   string   // absolute
	Args   []string // Args[0] is its name
	SHA256 string   // of the file, in hex, looked at before every start; empty: not looked at
	Env    []string // NAME=value beside what every plugin has; nothing of the daemon's own environment is passed on

	self bool
}

// self is the file that this process was started from, also after an upgrade has put another in its place.
const self = "/proc/self/exe"

// Self is this very program with other arguments: a built-in plugin is never of another build than its daemon.
func Self(args ...string) Program {
	return Program{Path: self, Args: append([]string{os.Args[0]}, args...), self: true}
}

// Check refuses a program that Weft should not run as root: one that others may write, or that is not the one whose
// sum the administrator wrote down. Every start of a plugin begins with it.
func (p Program) Check() error {
	if p.self {
		return nil
	}
	if !filepath.IsAbs(p.Path) {
		return core.Errorf(core.BadConfig, "plugin's program %q: it must be an absolute path", core.Clip(p.Path))
	}
	if err := p.owned(); err != nil {
		return err
	}
	if p.SHA256 == "" {
		return nil
	}
	sum, err := hex.DecodeString(p.SHA256)
	if err != nil || len(sum) != sha256.Size {
		return core.Errorf(core.BadConfig, "sha256 %q: it must be %d hex digits", core.Clip(p.SHA256), 2*sha256.Size).WithRemedy("write what `sha256sum " + p.Path + "` prints")
	}
	// A SecureConfig never resets its hash: one for each start, or the second start fails.
	secure := plugin.SecureConfig{Checksum: sum, Hash: sha256.New()}
	ok, err := secure.Check(p.Path)
	if err != nil {
		return core.Errorf(core.BadConfig, "plugin's program %s: it cannot be read: %w", p.Path, err)
	}
	if !ok {
		return core.Errorf(core.BadConfig, "plugin's program %s: it is not the file whose sha256 is in the configuration", p.Path).
			WithRemedy("if it was upgraded on purpose, write what `sha256sum " + p.Path + "` prints now; otherwise find out who changed it")
	}
	return nil
}

// owned holds for root what sshd holds for keys: nobody else can put another program there.
func (p Program) owned() error {
	info, err := os.Stat(p.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return core.Errorf(core.BadConfig, "plugin's program %s: there is no such file", p.Path).WithRemedy("correct the path, or install the plugin")
	case err != nil:
		return core.Errorf(core.BadConfig, "plugin's program %s: %w", p.Path, err)
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return core.Errorf(core.BadConfig, "plugin's program %s: it is not an executable file", p.Path).WithRemedy("`chmod 755 " + p.Path + "` if it is the program")
	}
	if os.Geteuid() != 0 {
		return nil
	}
	if d := file.Trust(p.Path); d != nil {
		return core.Errorf(core.BadConfig, "plugin's program %s: it would run as root, and it is not believed: %w", p.Path, d).WithRemedy(d.Remedy)
	}
	return nil
}
