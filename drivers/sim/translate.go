package sim

import (
	"fmt"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// Descriptor is the kernel's form of a spec: members, VNIs and classes restricted, limits applied. What the kernel judges itself is left to it.
func Descriptor(spec core.ServiceSpec) (kernel.Desc, error) {
	d := kernel.Desc{RestrictedMembers: true, RestrictedVNIs: true, RestrictedTCs: true, ResourceLimits: true, Limits: spec.Limits}
	if len(spec.VNIs) == 0 || len(spec.VNIs) > kernel.MaxVNIs {
		return d, core.Errorf(core.BadCall, "NIC %s: a service with %d VNIs: a CXI service names 1 to %d", spec.Device, len(spec.VNIs), kernel.MaxVNIs)
	}
	for i, v := range spec.VNIs {
		d.VNIs[i] = uint16(v)
	}
	d.NumVNIs = uint8(len(spec.VNIs))
	for i := range 4 {
		d.TCs[i] = spec.Classes&(1<<i) != 0
	}
	switch spec.Owner.Kind {
	case core.OwnerUID:
		d.Members[0] = kernel.Member{ID: spec.Owner.ID, Type: kernel.UID}
	case core.OwnerGID:
		d.Members[0] = kernel.Member{ID: spec.Owner.ID, Type: kernel.GID}
	case core.OwnerNetNS:
		// no member: the namespace is set once the service stands
	default:
		return d, core.Errorf(core.BadCall, "NIC %s: a service with VNIs %s: it has no owner, so nobody could use it", spec.Device, core.FormatVNIs(spec.VNIs))
	}
	return d, nil
}

// View is a service of the kernel in Weft's words. A VNI range is written out, so that none of its VNIs is overlooked.
func View(device string, s kernel.Service) core.Service {
	v := core.Service{Device: device, ID: s.ID, Limits: s.Limits, InUse: s.InUse, System: s.System, Default: s.ID == kernel.DefaultID, Enabled: s.Enable}
	switch {
	case s.RestrictedVNIs:
		for _, vni := range s.VNIs[:s.NumVNIs] {
			v.VNIs = append(v.VNIs, core.VNI(vni))
		}
	case s.VNIMin != 0:
		for vni := int(s.VNIMin); vni <= int(s.VNIMax); vni++ {
			v.VNIs = append(v.VNIs, core.VNI(vni))
		}
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
		v.Owner = memberOwner(s)
	}
	return v
}

func memberOwner(s kernel.Service) core.Owner {
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
	if s.NetNS != 0 {
		return core.Owner{Kind: core.OwnerNetNS, ID: s.NetNS}
	}
	return core.Owner{}
}

func owner(o core.Owner) string {
	switch o.Kind {
	case core.OwnerUID:
		return fmt.Sprintf("uid %d", o.ID)
	case core.OwnerGID:
		return fmt.Sprintf("gid %d", o.ID)
	case core.OwnerNetNS:
		return fmt.Sprintf("network namespace %d", o.ID)
	case core.OwnerNone:
	}
	return "nobody"
}
