package kernel

import "github.com/weft-hpc/weft/core"

// InUse is what LNIs of a service have allocated, as the driver tells it (cxil_get_svc_rsrc_list): none for an unknown
// service.
func (n *NIC) InUse(id uint32) (used [core.NumResources]uint16) {
	s := n.find(id)
	if s == nil {
		return used
	}
	used = s.InUse
	if s.TLEPool < 0 {
		switch {
		case n.b.DefaultTLEs:
			used[core.TLE] = n.find(DefaultID).InUse[core.TLE]
		case n.b.NotCounted:
			used[core.TLE] = notCounted
		}
	}
	if n.b.NotCounted && !s.takesLEPool(n.b) {
		used[core.LE] = notCounted
	}
	return used
}

// LPR is how many LNIs share an RGID (cxil_get_svc_lpr): EINVAL unknown.
func (n *NIC) LPR(id uint32) (uint32, Errno) {
	s, err := n.Get(id)
	return uint32(s.LPR), err
}

// VNIRange is a service's VNI range (cxil_svc_get_vni_range): EINVAL unknown, with restricted_vnis, without a range, and
// before SHS 13.1; ENOENT where VNIs are named or a range was refused.
func (n *NIC) VNIRange(id uint32) (min, max uint16, err Errno) {
	s := n.find(id)
	switch {
	case !n.b.knows(OpGetVNIRange) || s == nil || s.RestrictedVNIs || s.NumVNIs == 0:
		return 0, 0, EINVAL
	case s.VNIMin == 0:
		return 0, 0, ENOENT
	}
	return s.VNIMin, s.VNIMax, OK
}

// NetNS is the network namespace with the lowest number that a service admits (cxil_svc_get_netns): EINVAL unknown, for
// none, and before SHS 14.0.
func (n *NIC) NetNS(id uint32) (uint32, Errno) {
	s := n.find(id)
	if !n.b.knows(OpGetNetNS) || s == nil {
		return 0, EINVAL
	}
	all := s.namespaces()
	if len(all) == 0 {
		return 0, EINVAL
	}
	return all[0], OK
}

// ExclusiveCP reports whether a service's communication profiles are its own (cxil_svc_get_exclusive_cp): EINVAL unknown
// and before SHS 13.1, ENOENT for a service without VNIs. Nothing in this model makes them its own.
func (n *NIC) ExclusiveCP(id uint32) (bool, Errno) {
	s := n.find(id)
	switch {
	case !n.b.knows(OpGetExclusiveCP) || s == nil:
		return false, EINVAL
	case s.VNIMin == 0 && !(s.RestrictedVNIs && s.NumVNIs > 0):
		return false, ENOENT
	}
	return false, OK
}
