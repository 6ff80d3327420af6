package kernel

// FreeRGIDs is how many RGIDs no LNI has (sysfs properties/rgids_avail).
func (n *NIC) FreeRGIDs() uint16 {
	var taken [RGIDs + 1]bool
	free := uint16(RGIDs)
	for i := range n.lnis {
		if id := n.lnis[i].RGID; !taken[id] {
			taken[id] = true
			free--
		}
	}
	return free
}
