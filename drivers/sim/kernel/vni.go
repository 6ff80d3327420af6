package kernel

// UseVNI is an LNI that wants to send with a VNI and a traffic class (cxil_alloc_cp): EINVAL for an unknown LNI and a class that is not allowed; ENOENT
// when no enabled service of the NIC has the VNI, though euid 0 gets a profile of its own then; EPERM when those that have it do not admit the caller.
// From SHS 13.0 on every enabled service of the NIC counts, not only the LNI's: membership of a service is what keeps a VNI from others.
//
// With SHS 12.0 the LNI's service alone counts, whose restrictions answer EINVAL; no source at hand gives that number.
func (n *NIC) UseVNI(c Caller, lni uint32, vni uint16, tc uint8) Errno {
	var own *Service
	for i := range n.lnis {
		if n.lnis[i].ID == lni {
			own = n.find(n.lnis[i].Service)
		}
	}
	if own == nil || vni == 0 || tc >= NumTCs {
		return EINVAL
	}
	if n.b.OwnVNIsOnly {
		if own.RestrictedVNIs && !own.has(vni) || !own.allows(tc) {
			return EINVAL
		}
		return OK
	}
	err := ENOENT
	for i := range n.services {
		s := &n.services[i]
		if !s.Enable || !s.has(vni) {
			continue
		}
		switch {
		case !n.b.admits(s, c):
			if err == ENOENT {
				err = EPERM
			}
		case !s.allows(tc):
			err = EINVAL
		default:
			return OK
		}
	}
	if err == ENOENT && c.EUID == 0 {
		return OK
	}
	return err
}

// has reports whether the VNI is one of the service's own.
func (s *Service) has(vni uint16) bool {
	if s.VNIMin != 0 && s.VNIMin <= vni && vni <= s.VNIMax {
		return true
	}
	if !s.RestrictedVNIs {
		return false
	}
	for _, v := range s.VNIs[:min(s.NumVNIs, MaxVNIs)] {
		if v == vni {
			return true
		}
	}
	return false
}

func (d *Desc) allows(tc uint8) bool { return !d.RestrictedTCs || d.TCs[tc] }
