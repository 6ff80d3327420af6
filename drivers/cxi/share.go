package cxi

import (
	"cmp"
	"runtime"

	"github.com/weft-hpc/weft/core"
)

// share lets LNIs share RGIDs where there are too few and they can, and reads it back. has tells how many share one
// now. 0 makes share read that.
func (m *maker) share(id, has uint32) errno {
	if m.n.lnisPerRGID(1) <= 1 || m.n.lib.setLPR == nil {
		return ok
	}
	free, known := m.n.d.now().sys.rgids(m.n.name)
	want := min(m.n.lnisPerRGID(free), m.n.canShare())
	if !known || want <= 1 {
		return ok
	}
	if has == 0 {
		var err errno
		if has, err = m.n.lpr(id); err != ok {
			return err
		}
	}
	if has >= want {
		return ok
	}
	if err := m.n.setLPR(id, want); err != ok {
		return err
	}
	if has, err := m.n.lpr(id); err != ok || has != want {
		return cmp.Or(err, eio)
	}
	return ok
}

// lnisPerRGID divides a job's processes by the RGIDs that are free on the node's NICs, as Slurm's switch/hpe_slingshot
// does.
func (n *nic) lnisPerRGID(free uint32) uint32 {
	processes := uint32(n.d.now().processes)
	if processes == 0 {
		processes = uint32(runtime.NumCPU())
	}
	room := max(free, 1) * uint32(n.beside)
	return (processes + room - 1) / room
}

// canShare is the most LNIs of a service that may share an RGID. Up to SHS 13.0 the driver mixes RGIDs up once one is
// given back (cass_rgid_get in cass_rgid.c of 12.0.0 and 13.0.0). From 13.1 on it ignores it while the module's
// parameter enable_rgid_sharing is off (cxi_svc_set_lpr in cass_svc.c).
func (n *nic) canShare() uint32 {
	if !n.traits().ranges || n.d.now().sys.sharingOff() {
		return 1
	}
	return maxLPR
}

// lonely warns where a job with a process on each CPU would need RGIDs that it cannot share.
func (n *nic) lonely() (f core.Finding, is bool) {
	want, can := n.lnisPerRGID(totalRGIDs), n.canShare()
	f = core.Finding{
		Severity: core.Warning, What: "some processes of a job that uses all CPUs cannot open a service on it",
		Evidence: "they are more than the RGIDs of the node's NICs, and processes cannot share one on " + n.traits().name(),
		Remedy:   "SHS 13.1 lets them share; or let such jobs start fewer processes a node, and say so by `processes`",
	}
	if n.d.now().sys.sharingOff() {
		f.Evidence = "they are more than the RGIDs of the node's NICs, and cxi_ss1's parameter enable_rgid_sharing is off"
		f.Remedy = "`echo 1 > /sys/module/cxi_ss1/parameters/enable_rgid_sharing`, and the same for the next boot"
	}
	return f, want > can
}
