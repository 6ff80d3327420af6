package rundir

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/weft-hpc/weft/core"
)

// Restarted reports whether a NIC of signs has restarted, or is gone. A file that the caller may not look up shows
// nothing.
func Restarted(signs []core.Sign) bool {
	for _, s := range signs {
		var st syscall.Stat_t
		err := syscall.Stat(s.Path, &st)
		if errors.Is(err, fs.ErrNotExist) || err == nil && st.Ino != s.Inode {
			return true
		}
	}
	return false
}
