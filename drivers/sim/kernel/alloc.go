package kernel

import (
	"math/bits"
	"slices"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/refusal"
)

// Alloc makes a service (cxil_alloc_svc) and gives its id: the lowest that is free, so that an id is used again at once.
// The checks come in the driver's order: EPERM; EINVAL for VNIs, members, limits; EBADR and EEXIST for members; EEXIST for
// VNIs, which come before members on 13.0; ENOSPC for entries, then for pools. The FailInfo is filled for ENOSPC only.
func (n *NIC) Alloc(c Caller, d *Desc) (uint32, refusal.FailInfo, Errno) {
	if !c.Admin {
		return 0, refusal.FailInfo{}, EPERM
	}
	if err := n.validate(d); err != OK {
		return 0, refusal.FailInfo{}, err
	}
	checks := []func(*Desc) Errno{n.checkMembers, n.checkVNIs}
	if n.b.VNIsFirst {
		slices.Reverse(checks)
	}
	for _, check := range checks {
		if err := check(d); err != OK {
			return 0, refusal.FailInfo{}, err
		}
	}
	return n.add(d)
}

func (n *NIC) validate(d *Desc) Errno {
	if d.RestrictedVNIs {
		if d.NumVNIs > MaxVNIs || d.NumVNIs == 0 && n.b.NeedVNI {
			return EINVAL
		}
		for _, v := range d.VNIs[:d.NumVNIs] {
			if v == 0 {
				return EINVAL
			}
		}
	}
	if d.RestrictedMembers {
		for _, m := range d.Members {
			if m.Type >= n.b.MemberTypes {
				return EINVAL
			}
		}
	}
	if d.ResourceLimits {
		for r, l := range d.Limits {
			if l.Max < l.Reserved || l.Max > Total[r] {
				return EINVAL
			}
		}
	}
	return OK
}

// checkMembers is the driver entering the members into the service's access list, one by one. A NetNS member enters namespace 0, whatever its id says.
func (n *NIC) checkMembers(d *Desc) Errno {
	if !d.RestrictedMembers {
		return OK
	}
	for i, m := range d.Members {
		if m.Type != UID && m.Type != GID {
			continue
		}
		if m.ID == invalidID && n.b.CheckMemberID {
			return EBADR
		}
		if i > 0 && m == d.Members[0] && n.b.DuplicateMember {
			return EEXIST
		}
	}
	if a, b := d.Members[0], d.Members[1]; a.Type == NetNS && b.Type == NetNS && n.b.DuplicateMember {
		return EEXIST
	}
	return OK
}

func (n *NIC) checkVNIs(d *Desc) Errno {
	if !d.RestrictedVNIs || n.b.Overlap == OverlapAllowed || n.b.Overlap == OverlapExact && n.ranges == 0 {
		return OK
	}
	for _, v := range d.VNIs[:d.NumVNIs] {
		if n.overlaps(v, v) {
			return EEXIST
		}
	}
	return OK
}

// overlaps reports whether the VNIs min to max may not be given beside those that the NIC's services have. One VNI is exact, also as a range of one.
func (n *NIC) overlaps(min, max uint16) bool {
	for i := range n.services {
		s := &n.services[i]
		if s.VNIMin != 0 && min <= s.VNIMax && s.VNIMin <= max {
			if n.b.Overlap == OverlapRefused || min != max || s.VNIMin != s.VNIMax {
				return true
			}
		}
		if !s.RestrictedVNIs || n.b.Overlap == OverlapExact && min == max {
			continue
		}
		for _, v := range s.VNIs[:s.NumVNIs] {
			if min <= v && v <= max {
				return true
			}
		}
	}
	return false
}

// add reserves what the service wants and puts it into the list.
func (n *NIC) add(d *Desc) (uint32, refusal.FailInfo, Errno) {
	s := Service{Desc: *d, LPR: 1, TLEPool: -1}
	s.ID = n.lowestID()
	if !s.ResourceLimits {
		s.Limits = core.Limits{}
		for r, t := range Total {
			s.Limits[r].Max = t
		}
	}
	if tle := &s.Limits[core.TLE]; *tle != (core.Limit{}) && s.ID != DefaultID {
		tle.Reserved = max(tle.Reserved, LeastTLEs)
		tle.Max = tle.Reserved
	}
	if fail, err := n.reserve(&s); err != OK {
		return 0, fail, err
	}
	s.Enable = s.ID != DefaultID && (s.RestrictedVNIs || !n.b.OpenDisabled) // parameter disable_default_svc is on by default
	n.own()
	n.services = append(n.services, s)
	return s.ID, refusal.FailInfo{}, OK
}

// reserve takes entries and pools for s, all or none. Entries of all resources but TLE are looked at first, then pools in enum order.
func (n *NIC) reserve(s *Service) (refusal.FailInfo, Errno) {
	var fail refusal.FailInfo
	for r, l := range s.Limits {
		if core.Resource(r) == core.TLE || l == (core.Limit{}) {
			continue
		}
		fail.Avail[r] = Total[r] - n.reserved[r]
		if l.Reserved > fail.Avail[r] {
			return fail, ENOSPC
		}
	}
	if s.takesLEPool(n.b) {
		free := ^n.lePools & (0xffff << n.b.LEPoolFirst)
		if free == 0 {
			fail.NoLEPools = n.b.PoolsInFailInfo
			return fail, ENOSPC
		}
		s.LEPool = int8(bits.TrailingZeros16(free))
	}
	if tle := s.Limits[core.TLE]; tle.Reserved > 0 {
		if tle.Reserved > Total[core.TLE]-n.reserved[core.TLE] {
			return fail, ENOSPC
		}
		free := ^n.tlePools & (1<<TLEPools - 1)
		if free == 0 {
			fail.NoTLEPools = n.b.PoolsInFailInfo
			return fail, ENOSPC
		}
		s.TLEPool = int8(bits.TrailingZeros8(free))
		n.tlePools |= 1 << s.TLEPool
	}
	if s.takesLEPool(n.b) {
		n.lePools |= 1 << s.LEPool
	}
	for r, l := range s.Limits {
		n.reserved[r] += l.Reserved
	}
	return refusal.FailInfo{}, OK
}

func (s *Service) takesLEPool(b *Behaviour) bool {
	le := s.Limits[core.LE]
	return le.Reserved > 0 || b.LEPoolByMax && le.Max > 0
}

func (n *NIC) poolsLeft(r core.Resource) int {
	if r == core.TLE {
		return TLEPools - bits.OnesCount8(n.tlePools)
	}
	return LEPools - int(n.b.LEPoolFirst) - bits.OnesCount16(n.lePools)
}

func (n *NIC) lowestID() uint32 {
	var low uint64 // bit i: id i+1 is taken
	for i := range n.services {
		if id := n.services[i].ID; id <= 64 {
			low |= 1 << (id - 1)
		}
	}
	if low != ^uint64(0) {
		return uint32(bits.TrailingZeros64(^low)) + 1
	}
	id := uint32(65)
	for n.find(id) != nil {
		id++
	}
	return id
}
