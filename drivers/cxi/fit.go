package cxi

import (
	"unsafe"

	"github.com/weft-hpc/weft/core"
)

// fit says why a library and a driver do not work together; the zero value says nothing. Weft's own calls have the same
// layout in all releases. So only applications fail, and Weft warns before them.
type fit struct {
	severity  core.Severity // Critical: no application can use the NIC
	what, why string
}

const untried = "the two are not known to work together"

// fit compares the library that is loaded with the driver's traits.
func (n *nic) fit(t traits) fit {
	has := n.lib.version()
	switch {
	case n.layout() == no:
		return fit{core.Critical, "libcxi and driver are of different releases, so that no application can open a service",
			"they give the call that opens an LNI another layout (EINVAL)"}
	case t.release == "" || has == t.library:
		return fit{}
	case has >= 9 && !t.ranges: // cxil_alloc_cp in src/libcxi.c of 13.1.0; CXI_OP_MAX is 77 in 12.0.0 and 13.0.0
		return fit{core.Critical, "libcxi is newer than the driver, so that applications cannot send",
			"it asks for communication profiles, and its retry handler for a service, as this driver refuses (EINVAL)"}
	case has > t.library:
		return fit{core.Warning, "libcxi is newer than the driver", untried}
	case has < 9: // retry_handler/main.c of 13.0.0 does not enable its service, which drivers from 13.1 on make disabled
		return fit{core.Warning, "libcxi is older than the driver, whose newer calls it lacks",
			"its retry handler gets no LNI of this driver (EKEYREVOKED), and libfabric uses no NIC without one"}
	}
	return fit{core.Warning, "libcxi is older than the driver, whose newer calls it lacks", untried}
}

// evidence names the library and the driver, and why they do not fit.
func (t traits) evidence(l *library) string {
	return "libcxi is of " + l.newest() + ", the driver " + t.name() + ": " + t.fit.why
}

const oneRelease = "install libcxi (cray-libcxi) and driver (cray-cxi-driver) of one release, and reboot the node; " +
	"where applications use another libcxi, name its file by `library` in the block of driver \"cxi\""

// layout reports whether library and driver agree on the command that opens an LNI. It has 16 bytes up to SHS 14.0.1,
// and 24 with other places in main (struct cxi_lni_alloc_cmd in cxi-abi.h). The driver refuses another size with EINVAL
// (dispatch in cxi_user_core.c). While the default service is disabled, the driver answers EKEYREVOKED and takes
// nothing (cxi_lni_alloc in cass_lni.c).
func (n *nic) layout() answer {
	if _, err := n.get(defaultID); err != ok {
		return unanswered // EINVAL would be the answer for a service that is not there
	}
	var lni unsafe.Pointer
	switch n.do(true, func() int32 { return n.lib.allocLNI(n.handle, &lni, defaultID) }) {
	case ok:
		n.lib.destroyLNI(lni)
		return yes
	case einval:
		return no
	case ekeyrevoked, enospc:
		return yes
	default:
		return unanswered
	}
}
