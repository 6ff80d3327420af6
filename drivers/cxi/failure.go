package cxi

import (
	"fmt"

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

// report is what refusals read.
func (f *failInfo) report() refusal.FailInfo {
	return refusal.FailInfo{Avail: f.avail, NoLEPools: f.noLEPools != 0, NoTLEPools: f.noTLEPools != 0}
}
