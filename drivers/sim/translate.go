package sim

import (
	"slices"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// Descriptor is the kernel's form of a spec: members, VNIs and classes restricted, limits applied. What the kernel judges itself is left to it. A spec of
// more than MaxVNIs VNIs has none in its descriptor: they are set as a range once the service stands.
func Descriptor(spec core.ServiceSpec) (kernel.Desc, error) {
	d := kernel.Desc{RestrictedMembers: true, RestrictedVNIs: true, RestrictedTCs: true, ResourceLimits: true, Limits: spec.Limits}
	switch {
	case len(spec.VNIs) > kernel.MaxVNIs && core.IsVNIRange(spec.VNIs):
		d.RestrictedVNIs = false
	case len(spec.VNIs) == 0 || len(spec.VNIs) > kernel.MaxVNIs:
		return d, core.Errorf(core.BadCall, "NIC %s: a service with %d VNIs: a CXI service names 1 to %d, or has an aligned block of a power of two",
			spec.Device, len(spec.VNIs), kernel.MaxVNIs)
	default:
		for i, v := range spec.VNIs {
			d.VNIs[i] = uint16(v)
		}
		d.NumVNIs = uint8(len(spec.VNIs))
	}
	for i := range 4 {
		d.TCs[i] = spec.Classes&(1<<i) != 0
	}
	var ok bool
	if d.Members, ok = members(spec.Owner); !ok {
		return d, core.Errorf(core.BadCall, "NIC %s: a service with VNIs %s: it has no owner, so nobody could use it", spec.Device, core.VNIRanges(spec.VNIs))
	}
	return d, nil
}

// members are a descriptor's two members. An ignored second one would let everybody in with SHS 13.0: it is root, or for root's own service group 0. A
// network namespace is no member: it is set once the service stands, and needs both ignored.
func members(o core.Owner) (m [kernel.MaxMembers]kernel.Member, ok bool) {
	m[1] = kernel.Member{Type: kernel.UID}
	switch o.Kind {
	case core.OwnerUID:
		m[0] = kernel.Member{ID: o.ID, Type: kernel.UID}
		if o.ID == 0 {
			m[1].Type = kernel.GID
		}
	case core.OwnerGID:
		m[0] = kernel.Member{ID: o.ID, Type: kernel.GID}
	case core.OwnerNetNS:
		m[1] = kernel.Member{}
	default:
		return m, false
	}
	return m, true
}

// View is a service of the kernel in Weft's words. A VNI range is written out, so that none of its VNIs is overlooked.
func View(b *kernel.Behaviour, device string, s kernel.Service) core.Service {
	v := core.Service{Device: device, ID: s.ID, Limits: s.Limits, InUse: s.InUse, System: s.System, Default: s.ID == kernel.DefaultID, Enabled: s.Enable}
	if s.RestrictedVNIs || b.OpenNamed {
		for _, vni := range s.VNIs[:min(s.NumVNIs, kernel.MaxVNIs)] {
			v.VNIs = append(v.VNIs, core.VNI(vni))
		}
	}
	for vni := int(s.VNIMin); s.VNIMin != 0 && vni <= int(s.VNIMax); vni++ {
		v.VNIs = append(v.VNIs, core.VNI(vni))
	}
	if !s.RestrictedTCs {
		v.Classes = core.AllClasses
	}
	for i := range 4 {
		if s.TCs[i] {
			v.Classes |= 1 << i
		}
	}
	if s.RestrictedMembers {
		v.Owner = memberOwner(b, s)
	}
	if !v.System && !v.Default {
		v.LNIs = uint16(s.LPR)
	}
	return v
}

// namespace is the network namespace of a service that has no other owner; 0: none.
func namespace(s *kernel.Service) uint32 {
	if s.Members != [kernel.MaxMembers]kernel.Member{} {
		return 0
	}
	return s.Namespace()
}

func memberOwner(b *kernel.Behaviour, s kernel.Service) core.Owner {
	ignored := func(m kernel.Member) bool { return m.Type == kernel.Ignore }
	if b.OpenIgnore && !s.System && slices.ContainsFunc(s.Members[:], ignored) {
		return core.Owner{} // everybody may open it
	}
	for _, m := range s.Members {
		switch m.Type {
		case kernel.UID:
			return core.Owner{Kind: core.OwnerUID, ID: m.ID}
		case kernel.GID:
			return core.Owner{Kind: core.OwnerGID, ID: m.ID}
		case kernel.Ignore, kernel.NetNS:
			// a namespace is never a member: it is set apart
		}
	}
	if netns := namespace(&s); netns != 0 {
		return core.Owner{Kind: core.OwnerNetNS, ID: netns}
	}
	return core.Owner{}
}
