package host

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/weft-hpc/weft/core"
)

const (
	maxSocketPath = 107                     // sun_path has 108 bytes, the last a NUL (unix(7))
	socketName    = "plugin" + "4294967295" // go-plugin's, with its longest random number
	maxFolderName = 32
)

// folderName is a plugin's under the run directory: its own name where that is short.
func folderName(kind Kind, name string) string {
	whole := string(kind) + "-" + name
	if len(whole) <= maxFolderName {
		return whole
	}
	sum := sha256.Sum256([]byte(whole))
	return whole[:maxFolderName-9] + "-" + hex.EncodeToString(sum[:4])
}

// checkSocketPath refuses a folder in which no socket can be bound.
func checkSocketPath(folder string) error {
	if n := len(filepath.Join(folder, socketName)); n > maxSocketPath {
		return core.Errorf(core.BadConfig, "run directory: %s: the path of a plugin's socket in it would have %d bytes and may have %d", folder, n, maxSocketPath).
			WithRemedy("choose a run directory with a shorter path")
	}
	return nil
}

// emptied makes the folder of a plugin's socket, for its owner only, or empties it: a killed plugin leaves its socket behind.
func emptied(folder string) error {
	bad := func(err error) error {
		return core.Errorf(core.InternalFault, "plugin's folder %s: %w", folder, err).WithRemedy("the run directory must be writable for the daemon and for nobody else")
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		return bad(err)
	}
	err := os.Mkdir(folder, 0o700)
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return bad(err)
	}
	info, err := os.Lstat(folder)
	if err != nil {
		return bad(err)
	}
	if stat := info.Sys().(*syscall.Stat_t); !info.IsDir() || int(stat.Uid) != os.Geteuid() {
		return bad(errors.New("it is not a folder of the daemon's own"))
	}
	if err := os.Chmod(folder, 0o700); err != nil {
		return bad(err)
	}
	left, err := os.ReadDir(folder)
	if err != nil {
		return bad(err)
	}
	for _, f := range left {
		if err := os.RemoveAll(filepath.Join(folder, f.Name())); err != nil {
			return bad(err)
		}
	}
	return nil
}
