package settings

import (
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/weft-hpc/weft/config"
)

// witnessed finds why the place of a store's witness is a bad one.
func witnessed(c config.Server) (what, remedy string) {
	if !c.OneFile() {
		return "", ""
	}
	what = c.Witness + ": the store's witness "
	remedy = "name another place with `witness` in config.hcl; docs/restore.md tells how to move it"
	switch {
	case filepath.Dir(c.Witness) == filepath.Dir(c.Store):
		return what + "lies next to the store: one backup takes both, and an old witness vouches for an old store", remedy
	case inMemory(c.Witness) && !inMemory(c.Store):
		return what + "lies in memory: a reboot loses it, and the server then waits for every node", remedy
	}
	return "", ""
}

// inMemory reports whether a file ends with the boot.
func inMemory(path string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(path, &fs) == nil && (fs.Type == unix.TMPFS_MAGIC || fs.Type == unix.RAMFS_MAGIC)
}
