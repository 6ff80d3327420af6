package rpc

import (
	"github.com/weft-hpc/weft/core"
	corev1 "github.com/weft-hpc/weft/rpc/proto/weft/core/v1"
)

// eth is the kernel's fifth traffic class. No job gets it; the driver's own services may have it.
const eth core.Classes = 1 << 4

func (d *decoder) classes(v uint32, allowed core.Classes) core.Classes {
	if v&^uint32(allowed) != 0 {
		d.fail("traffic classes %#x: there are none beyond %#x", v, uint32(allowed))
	}
	return core.Classes(v)
}

func encodeVNIs(v []core.VNI) []uint32 {
	return every(v, func(v core.VNI) uint32 { return uint32(v) })
}

func (d *decoder) vnis(in []uint32, most int) []core.VNI {
	return each(d, "VNIs", in, most, func(v uint32) core.VNI {
		if v == 0 || v > 65535 {
			d.fail("VNI %d: it is not from 1 to 65535", v)
		}
		return core.VNI(v)
	})
}

func encodeOwner(o core.Owner) *corev1.Owner {
	if o == (core.Owner{}) {
		return nil
	}
	return &corev1.Owner{Kind: corev1.OwnerKind(o.Kind), Id: o.ID}
}

func (d *decoder) owner(p *corev1.Owner) core.Owner {
	kind := p.GetKind()
	switch {
	case kind < 0 || kind > corev1.OwnerKind(core.OwnerNetNS):
		d.fail("owner: there is no kind %d", kind)
	case (kind == corev1.OwnerKind_OWNER_KIND_UID || kind == corev1.OwnerKind_OWNER_KIND_GID) && p.GetId() == core.NoUID:
		d.fail("owner %d: it is nobody", p.GetId())
	}
	return core.Owner{Kind: core.OwnerKind(kind), ID: p.GetId()}
}

func encodeService(s core.Service) *corev1.Service {
	return &corev1.Service{
		Device: utf(s.Device), Id: s.ID, Owner: encodeOwner(s.Owner), Vnis: encodeVNIs(s.VNIs), Classes: uint32(s.Classes),
		Limits: encodeLimits(s.Limits), InUse: encodeCounts(s.InUse), System: s.System, Default: s.Default, Enabled: s.Enabled,
		Lnis: uint32(s.LNIs),
	}
}

// service as a NIC has it, whoever made it: a foreign one may have what Weft never asks for.
func (d *decoder) service(p *corev1.Service) core.Service {
	return core.Service{
		Device: d.device(p.GetDevice()), ID: p.GetId(), Owner: d.owner(p.GetOwner()), VNIs: d.vnis(p.GetVnis(), maxOnNIC),
		Classes: d.classes(p.GetClasses(), core.AllClasses|eth), Limits: d.limits(p.GetLimits()), InUse: d.counts(p.GetInUse()),
		System: p.GetSystem(), Default: p.GetDefault(), Enabled: p.GetEnabled(), LNIs: d.u16("LNIs", p.GetLnis()),
	}
}
