package file_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-hpc/weft/file"
)

func TestRemedy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo, circle, absent := filepath.Join(dir, "fifo"), filepath.Join(dir, "circle"), filepath.Join(dir, "none", "file")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(circle, circle); err != nil {
		t.Fatal(err)
	}
	read := func(path string) error { _, err := file.Read(path, 1); return err }
	grow := func(path string) error { _, err := file.Append(path); return err }
	failed := func(why syscall.Errno) func(string) error {
		return func(path string) error {
			return fmt.Errorf("store: %w", &fs.PathError{Op: "write", Path: path, Err: why})
		}
	}
	for _, tt := range []struct {
		path string
		do   func(string) error
		want string
	}{
		{fifo, read, "move " + fifo + " away"},
		{fifo, grow, "move " + fifo + " away"},
		{dir, read, "move " + dir + " away"},
		{dir, grow, "move " + dir + " away"},
		{circle, read, "move " + circle + " away"},
		{circle, grow, "move " + circle + " away"},
		{absent, read, "make the folder " + filepath.Dir(absent)},
		{absent, grow, "make the folder " + filepath.Dir(absent)},
		{filepath.Join(fifo, "file"), grow, "make the folder " + fifo},
		{fifo, failed(syscall.EACCES), "run it as the user who owns the folder " + dir},
		{fifo, failed(syscall.ENOSPC), "free space in the file system of " + dir},
		{fifo, failed(syscall.EDQUOT), "free space in the file system of " + dir},
		{fifo, failed(syscall.EROFS), "mount the file system of " + dir + " writable"},
		{fifo, failed(syscall.EIO), "look in the kernel's log for errors of the file system of " + dir},
	} {
		err := tt.do(tt.path)
		if got := file.Remedy(tt.path, err); err == nil || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%v: %s, want %s", err, got, tt.want)
		}
	}
}
