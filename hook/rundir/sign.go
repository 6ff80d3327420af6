package rundir

import (
	"syscall"

	"github.com/weft-hpc/weft/core"
)

// Hold reports whether the caller sees that no NIC of signs has restarted. A file that the caller cannot look up, in a
// sandbox for example, proves nothing.
func Hold(signs []core.Sign) bool {
	for _, s := range signs {
		var st syscall.Stat_t
		if syscall.Stat(s.Path, &st) != nil || st.Ino != s.Inode {
			return false
		}
	}
	return true
}
