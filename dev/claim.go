package dev

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
	"github.com/weft-hpc/weft/hook"
)

// Claim makes the system's folder and takes it for this process, before anything in it is touched: two systems in one folder would each undo what the
// other does. The claim ends with the process, however that ends.
func Claim(dir string, nodes []string) (*os.File, error) {
	for _, name := range nodes {
		// A socket's path has a limit that no other file's has; it is better known before the nodes stand than after.
		if path := filepath.Join(Folder(dir, name), "agent.sock"); len(path) > hook.MaxPath {
			return nil, core.Errorf(core.BadConfig, "dir %s: the socket of node %s would have a path of %d bytes and the kernel takes %d", core.Clip(dir), name, len(path), hook.MaxPath).
				WithRemedy("give a folder with a shorter path, or one below the current folder")
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, core.Errorf(core.BadConfig, "dir %s: it cannot be made: %w", dir, file.Bare(err)).WithRemedy("give a folder that you may write to")
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return nil, core.Errorf(core.BadConfig, "dir %s: it cannot be written: %w", dir, file.Bare(err)).WithRemedy("give a folder that you may write to")
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, core.Errorf(core.StoreLocked, "dir %s: another system runs there%s", dir, holder(f)).WithRemedy("use that one, stop it first, or give another folder")
		}
		return nil, core.Errorf(core.BadConfig, "dir %s: it cannot be locked: %w", dir, err)
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt(fmt.Appendln(nil, os.Getpid()), 0)
	}
	if err != nil {
		f.Close()
		return nil, core.Errorf(core.BadConfig, "dir %s: it cannot be written: %w", dir, file.Bare(err)).WithRemedy("free space there, or give another folder")
	}
	return f, nil
}

// holder says which process has the folder, if it has said so.
func holder(f *os.File) string {
	text, err := io.ReadAll(io.LimitReader(f, 32))
	if err != nil {
		return ""
	}
	pid, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 31)
	if err != nil {
		return ""
	}
	return fmt.Sprintf(", process %d", pid)
}
