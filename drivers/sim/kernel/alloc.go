package kernel

import (
	"cmp"
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
	if d.NumVNIs > MaxVNIs { // without restricted_vnis the driver takes it, and overruns memory from 13.0 on
		return EINVAL
	}
	if d.RestrictedVNIs {
		if d.NumVNIs == 0 && n.b.NeedVNI {
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

// checkMembers is the driver that enters the members into the service's access list, one by one. See Service.namespaces.
func (n *NIC) checkMembers(d *Desc) Errno {
	if !d.RestrictedMembers {
		return OK
	}
	for i, m := range d.Members {
		if !m.isUser() {
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

// checkVNIs is the driver making a profile for each VNI. On 13.0 it enables each at once.
func (n *NIC) checkVNIs(d *Desc) Errno {
	for i, v := range n.b.named(d) {
		twice := n.b.Overlap == OverlapRefused && slices.Contains(d.VNIs[:i], v)
		if twice || n.overlaps(v, v) {
			return EEXIST
		}
		if n.b.VNIsFirst && n.entries()+i >= Entries {
			return ENOSPC
		}
	}
	return OK
}

// named are the VNIs of a descriptor that the driver makes profiles for.
func (b *Behaviour) named(d *Desc) []uint16 {
	if b.Overlap == OverlapAllowed || !d.RestrictedVNIs && !b.OpenNamed {
		return nil
	}
	return d.VNIs[:d.NumVNIs]
}

// overlaps reports whether another profile has some of the VNIs from min to max, so that they may not be given. One VNI is
// exact, also as a range of one.
func (n *NIC) overlaps(min, max uint16) bool {
	exact := n.b.Overlap == OverlapExact && min == max
	hits := func(r span) bool { return r.max >= min && r.min <= max && !(exact && r.min == r.max) }
	for i := range n.services {
		s := &n.services[i]
		if s.VNIMin != 0 && hits(span{s.VNIMin, s.VNIMax}) {
			return true
		}
		for _, v := range n.b.named(&s.Desc) {
			if hits(span{v, v}) {
				return true
			}
		}
	}
	return slices.ContainsFunc(n.lost, hits)
}

// Entries is how many profiles of a NIC can be enabled (cxi_rx_profile_enable in cxi_rx_profile.c of 13.0.0 and newer).
const Entries = 256

// entries counts the profiles that are enabled.
func (n *NIC) entries() int {
	count := 0
	for i := range n.services {
		if s := &n.services[i]; n.b.enabled(s) {
			count += n.b.profiles(s)
		}
	}
	return count
}

// enabled reports whether the profiles of a service are. On 13.0 they always are, those of the default service too.
func (b *Behaviour) enabled(s *Service) bool { return s.Enable || b.VNIsFirst }

func (b *Behaviour) profiles(s *Service) int {
	if s.VNIMin != 0 {
		return 1
	}
	return len(b.named(&s.Desc))
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
	fail, err := n.reserve(&s)
	if err != OK {
		return 0, fail, err
	}
	s.Enable = s.ID != DefaultID && (s.RestrictedVNIs || !n.b.OpenDisabled) // parameter disable_default_svc is on by default
	if s.Enable && !n.b.VNIsFirst && n.entries()+n.b.profiles(&s) > Entries {
		n.release(&s)
		return 0, fail, ENOSPC
	}
	n.own()
	at := len(n.services)
	if n.b.ByID {
		at, _ = slices.BinarySearchFunc(n.services, s, func(a, b Service) int { return cmp.Compare(a.ID, b.ID) })
	}
	n.services = slices.Insert(n.services, at, s)
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
	return fail, OK
}

// release gives back what reserve took.
func (n *NIC) release(s *Service) {
	for r, l := range s.Limits {
		n.reserved[r] -= l.Reserved
	}
	if s.takesLEPool(n.b) {
		n.lePools &^= 1 << s.LEPool
	}
	if s.TLEPool >= 0 {
		n.tlePools &^= 1 << s.TLEPool
	}
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
