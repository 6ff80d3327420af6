package plan

import (
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"syscall"
)

// Upward gives a path and each folder above it. It leaves out those that are not there.
func Upward(path string) iter.Seq2[string, fs.FileInfo] {
	return func(yield func(string, fs.FileInfo) bool) {
		for at := filepath.Clean(path); ; at = filepath.Dir(at) {
			info, err := os.Stat(at)
			if err == nil && !yield(at, info) || at == filepath.Dir(at) {
				return
			}
		}
	}
}

// Loose says which other user could change what a daemon runs as root at a path; "" where no other could.
func Loose(path, daemon string) string {
	for at, info := range Upward(path) {
		mode := info.Mode()
		st, ok := info.Sys().(*syscall.Stat_t)
		switch {
		case ok && st.Uid != 0 && int64(st.Uid) != int64(os.Geteuid()):
			return fmt.Sprintf("%s belongs to uid %d, which could change what %s runs as root", at, st.Uid, daemon)
		case mode.Perm()&0o022 != 0 && (!mode.IsDir() || mode&fs.ModeSticky == 0):
			return fmt.Sprintf("%s has mode %04o: others could change what %s runs as root", at, mode.Perm(), daemon)
		}
	}
	return ""
}
