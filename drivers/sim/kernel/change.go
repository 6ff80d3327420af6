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
	n.release(s)
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

// Enable switches a service on or off (cxil_svc_enable), the default one too: EPERM; EINVAL unknown, and before SHS 13.1;
// EBUSY in use. On is EINVAL where VNIs are named or a range was refused, and ENOSPC without Entries: it is off then.
func (n *NIC) Enable(c Caller, id uint32, on bool) Errno {
	if !n.b.knows(OpEnable) {
		return EINVAL
	}
	s, err := n.idle(c, id)
	if err != OK {
		return err
	}
	was := s.Enable
	s.Enable = false
	switch {
	case !on:
		return OK
	case !s.RestrictedVNIs && s.NumVNIs > 0 && s.VNIMin == 0:
		return EINVAL
	case !was && n.entries()+n.b.profiles(s) > Entries:
		return ENOSPC
	}
	s.Enable = true
	return OK
}

// SetLPR sets how many LNIs share an RGID (cxil_set_svc_lpr): EINVAL above 8 or unknown, EBUSY in use. 0 works as 1 and is
// read as 0.
func (n *NIC) SetLPR(c Caller, id, lpr uint32) Errno {
	if !c.Admin {
		return EPERM
	}
	switch {
	case lpr > MaxLPR:
		return EINVAL
	case n.b.NoSharing:
		return OK
	}
	s, err := n.idle(c, id)
	if err == OK {
		s.LPR = uint8(lpr)
	}
	return err
}

// SetVNIRange gives a service without restricted_vnis its VNIs (cxil_svc_set_vni_range): EINVAL with restricted_vnis, for
// VNI 0 or above 65535, max below min, a size that is no power of two, min no multiple of the size; EEXIST for an overlap,
// also with its range before. It does not enable the service. The driver forgets the range before, and keeps its VNIs from
// all services until it is unloaded.
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
	}
	overlaps := n.overlaps(uint16(min), uint16(max))
	n.own()
	s = n.find(id)
	if s.VNIMin != 0 {
		n.lost = append(slices.Clip(n.lost), span{s.VNIMin, s.VNIMax})
	}
	s.VNIMin, s.VNIMax, s.NumVNIs = 0, 0, 1
	if overlaps {
		return EEXIST
	}
	s.VNIMin, s.VNIMax = uint16(min), uint16(max)
	return OK
}

// SetNetNS lets the processes of a network namespace in (cxil_svc_set_netns): EINVAL unknown, and before SHS 14.0; EEXIST
// for a uid, a gid, a service for everybody, and a namespace that is let in; EBUSY while enabled; EBADR for 4294967295. It is
// ENODATA where VNIs are named without restricted_vnis or a range was refused, and lets them open an LNI all the same. The
// model keeps two.
func (n *NIC) SetNetNS(c Caller, id, netns uint32) Errno {
	s := n.find(id)
	switch {
	case !n.b.knows(OpSetNetNS):
		return EINVAL
	case !c.Admin:
		return EPERM
	case s == nil:
		return EINVAL
	case !s.RestrictedMembers || slices.ContainsFunc(s.Members[:], Member.isUser):
		return EEXIST
	case s.Enable:
		return EBUSY
	case netns == invalidID:
		return EBADR
	case slices.Contains(s.namespaces(), netns):
		return EEXIST
	}
	n.own()
	s = n.find(id)
	if s.NetNS == 0 {
		s.NetNS = netns
	} else {
		s.NetNS2 = netns
	}
	if !s.RestrictedVNIs && s.NumVNIs > 0 && s.VNIMin == 0 {
		return ENODATA
	}
	return OK
}
