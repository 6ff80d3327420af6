package cxi

import (
	"unsafe"

	"github.com/weft-hpc/weft/core"
)

// The numbers of libcxi's interface (uapi of the driver).
const (
	maxMembers = 2 // CXI_SVC_MAX_MEMBERS
	numTCs     = 5 // dedicated access, low latency, bulk data, best effort, ETH
	defaultID  = 1 // CXI_DEFAULT_SVC_ID
	maxLPR     = 8 // logical address contexts of an RGID
	leastTLEs  = 8 // CASS_MIN_POOL_TLES
	lePools    = 16
	tlePools   = 4
	totalRGIDs = 255    // 1 to 255
	notCounted = 0xffff // in_use of LE and TLE where the service has no pool of its own
)

// Bits of desc.flags. The two highest are cntr_pool_id.
const (
	restrictedMembers = 1 << iota
	restrictedVNIs
	restrictedTCs
	resourceLimits
	enabled
	systemService
	flagsMask = 1<<iota - 1
)

// Member types (enum cxi_svc_member_type). netNS is known from SHS 14.0 on.
const (
	ignore = iota
	uid
	gid
	netNS
)

// member is one of a descriptor's members.
type member struct{ id, kind uint32 }

// limit is struct cxi_limits.
type limit struct{ max, reserved uint16 }

// desc is struct cxi_svc_desc. Limits are in the order of enum cxi_rsrc_type, which is core's.
type desc struct {
	flags   uint8
	numVNIs uint8
	vnis    [core.MaxVNIs]uint16
	tcs     [numTCs]uint8
	_       uint8
	members [maxMembers]member
	limits  [core.NumResources]limit
	id      uint32
}

// failInfo is struct cxi_svc_fail_info.
type failInfo struct {
	avail                 [core.NumResources]uint16
	noLEPools, noTLEPools uint8
	_                     [2]uint8 // the number of counter pools, and padding
}

// use is struct cxi_rsrc_use.
type use struct {
	id    uint32
	_     uint32 // the TLE pool
	inUse [core.NumResources]uint16
}

// devinfo is struct cxil_devinfo, which a device's handle begins with.
type devinfo struct {
	id, nid                                         uint32
	pidBits, pidCount, pidGranule, minFree, rdzvGet uint32
	name                                            [14]byte
	driver                                          [9]byte
	_                                               byte
	vendor, device, rev, proto, platform            uint32
	ptes, txqs, tgqs, eqs, cts, acs, tles, les      uint16
	domain, bus, slot, function                     uint16
	mtu, speed                                      uint64
	linkState                                       uint8
	_                                               [3]byte
	ucNIC                                           int32
	pctEQ                                           uint32
	cassini                                         uint32
	fru                                             [16]byte
	vf                                              uint8
	_                                               [3]byte
	systemType                                      uint32
}

// The layouts of all releases from 12.0 on, x86-64: another size or offset does not compile.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(limit{})-4]
	_ = [1]struct{}{}[unsafe.Sizeof(member{})-8]
	_ = [1]struct{}{}[unsafe.Sizeof(desc{})-68]
	_ = [1]struct{}{}[unsafe.Alignof(desc{})-4]
	_ = [1]struct{}{}[unsafe.Offsetof(desc{}.vnis)-2]
	_ = [1]struct{}{}[unsafe.Offsetof(desc{}.tcs)-10]
	_ = [1]struct{}{}[unsafe.Offsetof(desc{}.members)-16]
	_ = [1]struct{}{}[unsafe.Offsetof(desc{}.limits)-32]
	_ = [1]struct{}{}[unsafe.Offsetof(desc{}.id)-64]
	_ = [1]struct{}{}[unsafe.Sizeof(failInfo{})-20]
	_ = [1]struct{}{}[unsafe.Offsetof(failInfo{}.noLEPools)-16]
	_ = [1]struct{}{}[unsafe.Sizeof(use{})-24]
	_ = [1]struct{}{}[unsafe.Offsetof(use{}.inUse)-8]
	_ = [1]struct{}{}[unsafe.Sizeof(devinfo{})-152]
	_ = [1]struct{}{}[unsafe.Offsetof(devinfo{}.name)-28]
	_ = [1]struct{}{}[unsafe.Offsetof(devinfo{}.driver)-42]
	_ = [1]struct{}{}[unsafe.Offsetof(devinfo{}.vendor)-52]
	_ = [1]struct{}{}[unsafe.Offsetof(devinfo{}.ptes)-72]
	_ = [1]struct{}{}[unsafe.Offsetof(devinfo{}.acs)-82]
	_ = [1]struct{}{}[unsafe.Offsetof(devinfo{}.les)-86]
	_ = [1]struct{}{}[unsafe.Offsetof(devinfo{}.mtu)-96]
	_ = [1]struct{}{}[unsafe.Offsetof(devinfo{}.linkState)-112]
	_ = [1]struct{}{}[unsafe.Offsetof(devinfo{}.pctEQ)-120]
	_ = [1]struct{}{}[unsafe.Offsetof(devinfo{}.fru)-128]
	_ = [1]struct{}{}[unsafe.Offsetof(devinfo{}.systemType)-148]
)

// totals are what the device has of each resource. The structure's order is another than the enum's.
func (i *devinfo) totals() [core.NumResources]uint16 {
	return [core.NumResources]uint16{
		core.PTE: i.ptes, core.TXQ: i.txqs, core.TGQ: i.tgqs, core.EQ: i.eqs, core.CT: i.cts, core.LE: i.les, core.TLE: i.tles, core.AC: i.acs,
	}
}

func (d *desc) has(flag uint8) bool { return d.flags&flag != 0 }
