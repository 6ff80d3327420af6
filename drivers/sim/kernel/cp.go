package kernel

import "slices"

// AllocCP asks whether an LNI gets a communication profile for a VNI in a traffic class (cxil_alloc_cp), the number of
// enum cxi_traffic_class. It takes nothing. The sources are cxi_cp_alloc in cass_cpt.c and cxi_dev_find_tx_profile in
// cxi_tx_profile.c.
//
//	12.0     EINVAL unless the LNI's own service has VNI and class
//	13.0     ENOENT unless some enabled service has the VNI and admits the caller; EINVAL unless that one has the class
//	13.1 on  the same, but EPERM where services have the VNI and admit others
//
// For root the driver makes a profile, where no service has the VNI (cxi_dev_get_tx_profile of 13.0.0). It holds the
// VNI while it is used, which the model leaves out.
func (n *NIC) AllocCP(c Caller, lni uint32, vni uint16, class int) Errno {
	at := slices.IndexFunc(n.lnis, func(l LNI) bool { return l.ID == lni })
	if at < 0 || vni == 0 || class < 0 || class >= NumTCs-1 {
		return EINVAL
	}
	if n.b.Overlap == OverlapAllowed {
		s := n.find(n.lnis[at].Service)
		if s.RestrictedVNIs && !slices.Contains(s.VNIs[:s.NumVNIs], vni) || !s.allows(class) {
			return EINVAL
		}
		return OK
	}
	answer := ENOENT
	for i := range n.services {
		s := &n.services[i]
		switch {
		case !n.b.enabled(s) || !n.b.names(s, vni):
		case n.b.admits(s, c):
			if s.allows(class) {
				return OK
			}
			return EINVAL
		case n.b.Ops > R130.Ops:
			answer = EPERM
		}
	}
	if answer == ENOENT && c.EUID == 0 {
		if n.overlaps(vni, vni) {
			return EEXIST
		}
		return OK
	}
	return answer
}

// names reports whether a profile of the service has a VNI.
func (b *Behaviour) names(s *Service, vni uint16) bool {
	return s.VNIMin != 0 && s.VNIMin <= vni && vni <= s.VNIMax || slices.Contains(b.named(&s.Desc), vni)
}

func (s *Service) allows(class int) bool { return !s.RestrictedTCs || s.TCs[class] }
