package cxi

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/refusal"
)

const privilege = "run the agent as root, outside containers, with CAP_SYS_ADMIN and /dev/cxi*"

// failure is an error number as Weft's error. id 0 is left out.
func failure(device, what string, id uint32, err errno) *core.Error {
	if id != 0 {
		what = fmt.Sprintf("%s %d", what, id)
	}
	switch err {
	case eperm, eacces:
		return core.Errorf(core.NICFailed, "NIC %s: %s: the driver lets only root with CAP_SYS_ADMIN, on the host itself: %w", device, what, err).
			WithRemedy(privilege)
	case evirtual:
		return core.Errorf(core.NICMissing, "NIC %s: %s: it is a virtual function, and no NIC of the node", device, what)
	case enoent, enodev, enxio:
		return core.Errorf(core.NICFailed, "NIC %s: %s: the device is not there any more: %w", device, what, err)
	default:
	}
	return refusal.Error(device, what, 0, err)
}

// unopened is the failure of a NIC that the kernel lists and that cannot be opened. Its device file may be missing: module
// cxi_user makes it (cxi_user_core.c, SHS 12.0 to 14.0.1).
func unopened(sys sysfs, device string, err errno) *core.Error {
	if _, missing := os.Stat(filepath.Join(string(sys), "../dev", device)); err != enoent || !os.IsNotExist(missing) {
		return failure(device, "cannot open it", 0, err)
	}
	const remedy = "`modprobe cxi-user` makes the file; where that module is loaded, something removed the file, and " +
		"`mknod -m 666 /dev/%[1]s c $(tr : ' ' < /sys/class/cxi_user/%[1]s/dev)` makes it again"
	return core.Errorf(core.NICFailed, "NIC %s: cannot open it: /dev/%[1]s is missing: %w", device, err).
		WithRemedy(fmt.Sprintf(remedy, device))
}

// report is what refusals read.
func (f *failInfo) report() refusal.FailInfo {
	return refusal.FailInfo{Avail: f.avail, NoLEPools: f.noLEPools != 0, NoTLEPools: f.noTLEPools != 0}
}
