package cxi

import "github.com/weft-hpc/weft/core"

// unknown is a service that no NIC has.
const unknown = 0xfff0

// rows are the trials. None of them is known to harm a driver of SHS 12.0 to 14.0.1. An LNI never shares its RGID,
// which 12.0 and 13.0 get wrong (cass_rgid_get in cass_rgid.c). Only a service with restricted_vnis names more VNIs
// than it can have, since the driver checks that count (validate_descriptor in cass_svc.c).
var rows = []trial{
	{"alloc", []step{alloc()}},
	{"alloc: four VNIs", []step{alloc(vnis(4, 1))}},
	{"alloc: five VNIs", []step{alloc(vnis(5, 1))}},
	{"alloc: no VNI", []step{alloc(vnis(0, 1))}},
	{"alloc: VNI 0", []step{alloc(vni(0))}},
	{"alloc: a VNI twice", []step{alloc(vnis(2, 0))}},
	{"alloc: a VNI of the default service", []step{allocDefaultVNI}},
	{"alloc: a VNI of another service", []step{alloc(), alloc()}},
	{"alloc: a member twice", []step{alloc(owners(others, others))}},
	{"alloc: nobody as member", []step{alloc(owners(root, noUID))}},
	{"alloc: a member of no known type", []step{alloc(owners(root, member{0, netNS + 1}))}},
	{"alloc: a network namespace as member", []step{alloc(owners(member{0, netNS}, others))}},
	{"alloc: max below reserved", []step{alloc(txqs(1, 2))}},
	{"alloc: max above the device", []step{alloc(txqs(0xffff, 1))}},
	{"alloc: all TLEs", []step{allocAllTLEs}},
	{"alloc: an id is used again", []step{alloc(), remove, allocAgain}},
	{"order: a VNI of another service, and nobody as member", []step{alloc(), alloc(owners(root, noUID))}},
	{"order: a VNI of another service, and all TLEs", []step{alloc(), allocAllTLEs}},
	{"order: max below reserved, and nobody as member", []step{alloc(txqs(1, 2), owners(root, noUID))}},

	{"reading: flags", []step{alloc(), flags}},
	{"reading: a reservation of one TLE", []step{alloc(reserved(core.TLE, 1)), tles}},
	{"reading: an unknown service", []step{flags}},
	{"reading: use of a service with an open LNI", []step{alloc(), open, inUse}},

	{"destroy: an unknown service", []step{remove}},
	{"destroy: the default service", []step{of(defaultID), remove}},
	{"destroy: with an open LNI", []step{alloc(), open, remove}},
	{"destroy: once the LNI is closed", []step{alloc(), open, clearAll}},

	{"open: a member", []step{alloc(), open}},
	{"open: root, who is no member", []step{alloc(owners(stranger, others)), open}},
	{"open: root, the second member ignored", []step{alloc(owners(stranger, ignored)), open}},
	{"open: root, who is no member, of one that is disabled", []step{alloc(owners(stranger, others)), disable, open}},
	{"open: a service that is disabled", []step{alloc(), disable, open}},
	{"open: an unknown service", []step{open}},
	{"CP: a class of the service", []step{alloc(), open, cp(3)}},
	{"CP: a class that the service lacks", []step{alloc(), open, cp(2)}},

	{"enable: off", []step{alloc(), disable}},
	{"enable: off, with an open LNI", []step{alloc(), open, disable}},
	{"enable: off, an unknown service", []step{disable}},

	{"lpr: 0", []step{alloc(), lprIs(0), readLPR}},
	{"lpr: 8", []step{alloc(), lprIs(8), readLPR}},
	{"lpr: 9", []step{alloc(), lprIs(9), readLPR}},
	{"lpr: never set", []step{alloc(), readLPR}},
	{"lpr: an unknown service", []step{readLPR}},
	{"lpr: with an open LNI", []step{alloc(), open, lprIs(2)}},

	{"range: a power of two, aligned", []step{alloc(unnamed), rangeIs(8, 15), readRange}},
	{"range: not aligned", []step{alloc(unnamed), rangeIs(9, 16)}},
	{"range: no power of two", []step{alloc(unnamed), rangeIs(8, 14)}},
	{"range: of a service with restricted_vnis", []step{alloc(), rangeIs(8, 15)}},
	{"range: over a VNI of another service", []step{alloc(at(9)), alloc(unnamed), rangeIs(8, 15)}},
	{"range: it does not enable", []step{alloc(unnamed), rangeIs(8, 15), open}},

	{"netns: of a service that is disabled and has no member",
		[]step{alloc(owners(ignored, ignored)), disable, inNetNS, readNetNS}},
	{"netns: of one that is enabled", []step{alloc(owners(ignored, ignored)), inNetNS}},
	{"netns: of one with a member", []step{alloc(), inNetNS}},
	{"netns: of the default service", []step{of(defaultID), inNetNS}},
}

// poolRows take all pools of a resource for a moment.
var poolRows = []trial{
	{"pools: services that reserve TLEs", []step{until(core.TLE)}},
	{"pools: services that reserve LEs", []step{until(core.LE)}},
}
