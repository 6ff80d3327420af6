package kernel

import (
	"slices"

	"github.com/weft-hpc/weft/core"
)

// LNI is a logical NIC: what an application opens of a service, and what makes the service busy.
type LNI struct {
	ID      uint32 // the lowest that is free, from 1
	Service uint32
	RGID    uint16
	InUse   [core.NumResources]uint16
	counted uint16 // the RGID that counts it: see Behaviour.RGIDAbove
}

// AllocLNI opens an LNI of a service (cxil_alloc_lni): EINVAL unknown, EKEYREVOKED disabled, EPERM not a member (root has no bypass), ENOSPC no RGID.
// libfabric shows each of them as ENOSPC.
func (n *NIC) AllocLNI(c Caller, service uint32) (uint32, Errno) {
	s := n.find(service)
	switch {
	case s == nil:
		return 0, EINVAL
	case !s.Enable:
		return 0, EKEYREVOKED
	case !n.b.admits(s, c):
		return 0, EPERM
	}
	rgid, counted := n.rgid(s)
	if rgid == 0 {
		return 0, ENOSPC
	}
	at, id := 0, uint32(1)
	for at < len(n.lnis) && n.lnis[at].ID == id {
		at, id = at+1, id+1
	}
	n.own()
	n.lnis = slices.Insert(n.lnis, at, LNI{ID: id, Service: service, RGID: rgid, counted: counted})
	return id, OK
}

// FreeLNI closes an LNI and gives back what was allocated in it, as the death of its application does once its queues have
// drained. It is Oops for one whose RGID is not the one that counts it (cass_rgid_put in cass_rgid.c).
func (n *NIC) FreeLNI(id uint32) Errno {
	i, ok := slices.BinarySearchFunc(n.lnis, id, func(l LNI, id uint32) int { return int(int64(l.ID) - int64(id)) })
	if !ok {
		return EINVAL
	}
	if n.lnis[i].RGID != n.lnis[i].counted {
		return Oops
	}
	n.own()
	if s := n.find(n.lnis[i].Service); s != nil {
		for r, used := range n.lnis[i].InUse {
			s.InUse[r] -= used
		}
	}
	n.lnis = slices.Delete(n.lnis, i, i+1)
	return OK
}

// Use allocates count objects of a resource in an LNI: EBADR for one whose max is 0, ENOSPC above the service's max or above
// what the device has left. What others have reserved and not taken is not kept for them (cxi_rgroup_alloc_resource and
// cass_alloc_resource in cass_rgroup.c of 13.0.0 to 14.0.1, cxi_alloc_resource in cass_svc.c of 12.0). LE and TLE are
// counted by the hardware, which does keep reservations. Here they are ENOSPC above what a service has reserved, and
// EINVAL for LE.
func (n *NIC) Use(lni uint32, r core.Resource, count uint16) Errno {
	i, ok := slices.BinarySearchFunc(n.lnis, lni, func(l LNI, id uint32) int { return int(int64(l.ID) - int64(id)) })
	if !ok || r >= core.NumResources || r == core.LE {
		return EINVAL
	}
	s := n.find(n.lnis[i].Service)
	left := Total[r]
	for j := range n.services {
		left -= n.services[j].InUse[r]
	}
	switch top := s.Limits[r].Max; {
	case top == 0:
		return EBADR
	case count > top-s.InUse[r] || count > left:
		return ENOSPC
	}
	n.own()
	n.lnis[i].InUse[r] += count
	n.find(n.lnis[i].Service).InUse[r] += count
	return OK
}

// LNIs are those open, by id, the driver's own too. The slice must not be changed.
func (n *NIC) LNIs() []LNI { return n.lnis }

// Busy reports whether an LNI of the service is open.
func (n *NIC) Busy(service uint32) bool {
	for i := range n.lnis {
		if n.lnis[i].Service == service {
			return true
		}
	}
	return false
}

// admits reports whether c may open the service: without restricted_members everybody, else by effective uid, effective gid (with SHS 12.0 any group of
// the process) or network namespace. With SHS 13.0 an Ignore member lets everybody in.
func (b *Behaviour) admits(s *Service, c Caller) bool {
	if !s.RestrictedMembers {
		return true
	}
	for _, m := range s.Members {
		switch m.Type {
		case Ignore:
			if b.OpenIgnore {
				return true
			}
		case UID:
			if m.ID == c.EUID {
				return true
			}
		case GID:
			if m.ID == c.EGID || b.AnyGroup && c.Group != 0 && m.ID == c.Group {
				return true
			}
		case NetNS, memberTypes: // see namespaces; what no release knows
		}
	}
	return c.NetNS != 0 && slices.Contains(s.namespaces(), c.NetNS)
}
