package kernel

import "slices"

// Destroy removes a service (cxil_destroy_svc): EPERM, EINVAL for the default service and an unknown id, EBUSY while an LNI of it is open. There is no
// force.
func (n *NIC) Destroy(c Caller, id uint32) Errno {
	if !c.Admin {
		return EPERM
	}
	s := n.find(id)
	switch {
	case id == DefaultID || s == nil:
		return EINVAL
	case n.Busy(id):
		return EBUSY
	}
	for r, l := range s.Limits {
		n.reserved[r] -= l.Reserved
	}
	if s.takesLEPool(n.b) {
		n.lePools &^= 1 << s.LEPool
	}
	if s.TLEPool >= 0 {
		n.tlePools &^= 1 << s.TLEPool
	}
	if s.VNIMin != 0 {
		n.ranges--
	}
	n.own()
	n.services = slices.DeleteFunc(n.services, func(s Service) bool { return s.ID == id })
	return OK
}

// idle is the service to be changed, owned; EINVAL unknown, EBUSY while an LNI of it is open.
func (n *NIC) idle(c Caller, id uint32) (*Service, Errno) {
	switch {
	case !c.Admin:
		return nil, EPERM
	case n.find(id) == nil:
		return nil, EINVAL
	case n.Busy(id):
		return nil, EBUSY
	}
	n.own()
	return n.find(id), OK
}

// Enable switches a service on or off (cxil_svc_enable), the default one too: EPERM, EINVAL unknown, EBUSY in use. Before SHS 13.1 the command is unknown
// (EINVAL).
func (n *NIC) Enable(c Caller, id uint32, on bool) Errno {
	if !n.b.knows(OpEnable) {
		return EINVAL
	}
	s, err := n.idle(c, id)
	if err == OK {
		s.Enable = on
	}
	return err
}

// SetLPR sets how many LNIs share an RGID (cxil_set_svc_lpr): EINVAL above 8 or unknown, EBUSY in use. 0 counts as 1.
func (n *NIC) SetLPR(c Caller, id, lpr uint32) Errno {
	if !c.Admin {
		return EPERM
	}
	if lpr > MaxLPR {
		return EINVAL
	}
	s, err := n.idle(c, id)
	if err == OK {
		s.LPR = uint8(max(lpr, 1))
	}
	return err
}

// SetVNIRange gives a service without restricted_vnis its VNIs (cxil_svc_set_vni_range), once: EINVAL with restricted_vnis, for VNI 0 or above 65535,
// max below min, a size that is no power of two, min no multiple of the size; EEXIST for an overlap or a second range. It does not enable the service.
func (n *NIC) SetVNIRange(c Caller, id, min, max uint32) Errno {
	s := n.find(id)
	size := max - min + 1
	switch {
	case !n.b.knows(OpSetVNIRange):
		return EINVAL
	case !c.Admin:
		return EPERM
	case s == nil || s.RestrictedVNIs || min == 0 || min > 65535 || max == 0 || max > 65535 || max < min || size&(size-1) != 0 || min&(size-1) != 0:
		return EINVAL
	case s.VNIMin != 0 || n.b.Overlap != OverlapAllowed && n.overlaps(uint16(min), uint16(max)):
		return EEXIST
	}
	n.own()
	s = n.find(id)
	s.VNIMin, s.VNIMax, s.NumVNIs = uint16(min), uint16(max), 1
	n.ranges++
	return OK
}

// SetNetNS lets the processes of a network namespace in (cxil_svc_set_netns): EINVAL unknown, EEXIST unless members are restricted and all are Ignore,
// EBUSY while the service is enabled.
func (n *NIC) SetNetNS(c Caller, id, netns uint32) Errno {
	s := n.find(id)
	switch {
	case !n.b.knows(OpSetNetNS):
		return EINVAL
	case !c.Admin:
		return EPERM
	case s == nil:
		return EINVAL
	case !s.RestrictedMembers || s.Members[0].Type != Ignore || s.Members[1].Type != Ignore:
		return EEXIST
	case s.Enable:
		return EBUSY
	}
	n.own()
	n.find(id).NetNS = netns
	return OK
}
