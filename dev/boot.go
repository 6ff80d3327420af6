package dev

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/weft-hpc/weft/file"
)

// bootID is a simulated node's boot id, kept in a file: it lives until the machine that simulates it boots, or until somebody removes the file, which is
// how a simulated node reboots.
func bootID(path string) (string, error) {
	machine, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("boot id: %w", err)
	}
	prefix := strings.TrimSpace(string(machine)) + "/"
	text, err := os.ReadFile(path)
	switch {
	case err == nil && strings.HasPrefix(string(text), prefix):
		return strings.TrimSpace(string(text)), nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("boot id: %w", err)
	}
	var b [8]byte
	_, _ = rand.Read(b[:])
	id := prefix + hex.EncodeToString(b[:])
	if err := file.Replace(path, []byte(id), file.How{Mode: 0o644, Volatile: true}); err != nil {
		return "", fmt.Errorf("boot id: %w", err)
	}
	return id, nil
}
