package kernel

import (
	"slices"

	"github.com/weft-hpc/weft/core"
)

// Sizes and numbers of the driver's interface (uapi of cxi_ss1).
const (
	MaxMembers = 2 // CXI_SVC_MAX_MEMBERS
	MaxVNIs    = 4 // CXI_SVC_MAX_VNIS
	NumTCs     = 5 // dedicated access, low latency, bulk data, best effort, ETH
	DefaultID  = 1 // CXI_DEFAULT_SVC_ID
	invalidID  = 0xffffffff
	notCounted = 0xffff
)

// MemberType is enum cxi_svc_member_type.
type MemberType uint32

// The kinds of members. NetNS is known from SHS 14.0 on; older drivers answer EINVAL.
const (
	Ignore MemberType = iota
	UID
	GID
	NetNS
	memberTypes
)

// Member is one entry of a descriptor's members.
type Member struct {
	ID   uint32
	Type MemberType
}

// isUser reports whether the member is a uid or a gid.
func (m Member) isUser() bool { return m.Type == UID || m.Type == GID }

// Desc is struct cxi_svc_desc, field by field. Limits are in the order of enum cxi_rsrc_type, {max, res} of each.
type Desc struct {
	RestrictedMembers bool
	RestrictedVNIs    bool
	RestrictedTCs     bool
	ResourceLimits    bool
	Enable            bool // ignored on input
	System            bool // any privileged caller can set it
	CntrPoolID        uint8
	NumVNIs           uint8
	VNIs              [MaxVNIs]uint16
	TCs               [NumTCs]bool
	Members           [MaxMembers]Member
	Limits            core.Limits
	ID                uint32 // ignored on input
}

// Service is a service as the driver holds it: its descriptor and what later calls set.
type Service struct {
	Desc
	VNIMin, VNIMax uint16                    // the VNI range; 0, 0: none
	NetNS, NetNS2  uint32                    // inodes of network namespaces; 0: none
	LPR            uint8                     // LNIs per RGID, 0 to 8
	LEPool         int8                      // 1 to 15; 0: the shared pool
	TLEPool        int8                      // 0 to 3; -1: none
	InUse          [core.NumResources]uint16 `json:"-"` // what LNIs have allocated; LE and TLE are counted by the hardware and stay 0 here
}

// Namespace is the network namespace with the lowest number that the service admits; 0: none.
func (s *Service) Namespace() uint32 {
	if all := s.namespaces(); len(all) > 0 {
		return all[0]
	}
	return 0
}

// namespaces are those that the driver lets in, in the order of their numbers. For a NetNS member that is the number of the
// member before it, or 0: the driver does not clear what it read last (alloc_rgroup_ac_entries in cass_svc.c of 14.0.0).
func (s *Service) namespaces() (all []uint32) {
	last := uint32(0)
	for _, m := range s.Members {
		switch {
		case m.isUser():
			last = m.ID
		case m.Type == NetNS && s.RestrictedMembers:
			all = append(all, last)
		}
	}
	for _, netns := range []uint32{s.NetNS, s.NetNS2} {
		if netns != 0 {
			all = append(all, netns)
		}
	}
	slices.Sort(all)
	return all
}

// Caller is the process that calls, as the driver sees it. Ids are those of the initial user namespace.
type Caller struct {
	EUID  uint32
	EGID  uint32
	NetNS uint32
	Group uint32 // a supplementary group; 0: none
	Admin bool   // CAP_SYS_ADMIN in the initial user namespace
}

// Root is the caller that a driver plugin is.
var Root = Caller{Admin: true}
