package kernel

// FreeRGIDs counts the RGIDs that no LNI has (sysfs properties/rgids_avail). Where Behaviour.RGIDAbove is set, the
// driver cannot give all of them.
func (n *NIC) FreeRGIDs() uint16 {
	free := uint16(RGIDs + 1) // with 0, which is never used
	for _, lnis := range n.rgids() {
		if lnis > 0 {
			free--
		}
	}
	return free - 1
}

// rgids counts the LNIs of each RGID.
func (n *NIC) rgids() (lnis [RGIDs + 1]uint8) {
	for i := range n.lnis {
		lnis[n.lnis[i].counted]++
	}
	return lnis
}

// rgid finds an RGID of the service that has room for one more LNI, or one that is free. It is 0 where there is none
// (cass_rgid_get in cass_rgid.c). counted is the RGID that counts the LNI.
func (n *NIC) rgid(s *Service) (id, counted uint16) {
	lnis := n.rgids()
	var own [RGIDs + 1]bool
	for i := range n.lnis {
		own[n.lnis[i].counted] = n.lnis[i].Service == s.ID
	}
	free, above := uint16(0), uint16(1)
	for id := uint16(1); id <= RGIDs; id++ {
		switch {
		case lnis[id] == 0:
			if free == 0 {
				free = id
			}
		case own[id] && lnis[id] < s.LPR && n.b.RGIDAbove:
			return above, id
		case own[id] && lnis[id] < s.LPR:
			return id, id
		default:
			above = id + 1
		}
	}
	if n.b.RGIDAbove {
		free = above % (RGIDs + 1)
	}
	return free, free
}
