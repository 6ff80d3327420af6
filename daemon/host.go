package daemon

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
)

// Host tells the host of an agent from others. The agent reads an empty field from the machine.
type Host struct {
	Boot     string // its boot id
	Hardware string // identifies its board
	Cores    int    // processors that are online
}

// Linux tells all. An agent may run on a part of the processors and counts all of them. The firmware gives each board a
// UUID, which only root may read. A copied image shows the UUID of the board that it runs on. Without such firmware
// there is no file.
const (
	bootFile  = "/proc/sys/kernel/random/boot_id"
	boardFile = "/sys/class/dmi/id/product_uuid"
	coresFile = "/sys/devices/system/cpu/online" // 0-63,128-191
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
	if h.Cores == 0 {
		text, err := os.ReadFile(coresFile)
		list, bad := hostlist.Parse("cpu[" + strings.TrimSpace(string(text)) + "]")
		if err = cmp.Or(err, bad); err != nil {
			return core.Errorf(core.InternalFault, "processors: %s: %w", coresFile, err)
		}
		h.Cores = int(list.Count())
	}
	return nil
}
