package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// Host tells the host of an agent from others. The agent reads an empty field from the machine.
type Host struct {
	Boot     string // its boot id
	Hardware string // identifies its board
}

// Linux tells both. The firmware gives each board a UUID, which only root may read. A copied image shows the UUID of
// the board that it runs on. Without such firmware there is no file.
const (
	bootFile  = "/proc/sys/kernel/random/boot_id"
	boardFile = "/sys/class/dmi/id/product_uuid"
)

func (h *Host) read() error {
	if h.Boot == "" {
		text, err := os.ReadFile(bootFile)
		if err != nil {
			return core.Errorf(core.InternalFault, "boot id: %w", err)
		}
		h.Boot = strings.TrimSpace(string(text))
	}
	if text, err := os.ReadFile(boardFile); err == nil && h.Hardware == "" {
		sum := sha256.Sum256(text) // a UUID may be a secret of the site
		h.Hardware = hex.EncodeToString(sum[:8])
	}
	return nil
}
