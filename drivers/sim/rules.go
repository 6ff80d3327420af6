package sim

import (
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/refusal"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// CreateOn makes one service on a NIC and reads it back. A service that equals the spec is returned, not doubled. It is pure: tests that keep their own
// NICs use it without a Driver.
func CreateOn(n *kernel.NIC, spec core.ServiceSpec) core.Created {
	d, err := Descriptor(spec)
	if err == nil {
		err = able(n.Behaviour(), spec)
	}
	if err != nil {
		return core.Created{Err: err}
	}
	for _, s := range n.Services() {
		if equal(spec, &d, &s) {
			return core.Created{Service: View(n.Behaviour(), spec.Device, s)}
		}
	}
	id, fail, errno := n.Alloc(kernel.Root, &d)
	if errno == kernel.ENOSPC {
		return core.Created{Err: refusal.Short(&spec, n.Capacity(), fail, errno)}
	}
	if errno == kernel.OK {
		if errno = finish(n, id, spec); errno != kernel.OK {
			_ = n.Destroy(kernel.Root, id)
		}
	}
	if errno == kernel.EEXIST {
		return core.Created{Err: refusal.Taken(&spec, ServicesOn(n, spec.Device), n.Behaviour().Overlap == kernel.OverlapExact, errno)}
	}
	if errno != kernel.OK {
		return core.Created{Err: refusal.Error(spec.Device, "cannot create service: VNIs "+core.VNIRanges(spec.VNIs), 0, errno)}
	}
	s, errno := n.Get(id)
	if errno != kernel.OK {
		return core.Created{Err: refusal.Error(spec.Device, "cannot read back service", id, errno)}
	}
	return core.Created{Service: View(n.Behaviour(), spec.Device, s)}
}

// able refuses what the release cannot do, before anything is made.
func able(b *kernel.Behaviour, spec core.ServiceSpec) error {
	switch {
	case spec.Owner.Kind == core.OwnerNetNS && b.MemberTypes <= kernel.NetNS:
		return core.Errorf(core.NotSupported, "NIC %s: a service for network namespace %d: it needs SHS 14, and this is SHS %s", spec.Device, spec.Owner.ID, b.Release)
	case len(spec.VNIs) > kernel.MaxVNIs && !b.OpenDisabled:
		return core.Errorf(core.NotSupported, "NIC %s: a service with a range of %d VNIs: it needs SHS 13.1, and this is SHS %s", spec.Device, len(spec.VNIs), b.Release)
	}
	return nil
}

// finish sets what no descriptor holds: a VNI range, and the network namespace, which can be set only while the service is disabled.
func finish(n *kernel.NIC, id uint32, spec core.ServiceSpec) kernel.Errno {
	ranged, netns := len(spec.VNIs) > kernel.MaxVNIs, spec.Owner.Kind == core.OwnerNetNS
	if !ranged && !netns {
		return kernel.OK
	}
	if netns && !ranged {
		if errno := n.Enable(kernel.Root, id, false); errno != kernel.OK {
			return errno
		}
	}
	if ranged {
		if errno := n.SetVNIRange(kernel.Root, id, uint32(spec.VNIs[0]), uint32(spec.VNIs[len(spec.VNIs)-1])); errno != kernel.OK {
			return errno
		}
	}
	if netns {
		if errno := n.SetNetNS(kernel.Root, id, spec.Owner.ID); errno != kernel.OK {
			return errno
		}
	}
	return n.Enable(kernel.Root, id, true)
}

// DestroyOn removes one service from a NIC: nil when it is gone, also when it already was; Conflict when the id is now another service's, the system's
// or the default one; Busy while an application holds it. It is pure.
func DestroyOn(n *kernel.NIC, s core.Service) error {
	held, errno := n.Get(s.ID)
	if errno != kernel.OK {
		return nil
	}
	if err := refusal.Removal(s, View(n.Behaviour(), s.Device, held)); err != nil {
		return err
	}
	if errno := n.Destroy(kernel.Root, s.ID); errno != kernel.OK {
		return refusal.Error(s.Device, "cannot remove service", s.ID, errno)
	}
	return nil
}

// ServicesOn reads every service of a NIC, in the driver's order. It is pure.
func ServicesOn(n *kernel.NIC, device string) []core.Service {
	out := make([]core.Service, 0, len(n.Services()))
	for _, s := range n.Services() {
		out = append(out, View(n.Behaviour(), device, s))
	}
	return out
}

// Same reports whether the service on a NIC is the one that s names: VNIs and owner, since an id is used again at once.
func Same(n *kernel.NIC, s core.Service, held kernel.Service) bool {
	return s.Same(View(n.Behaviour(), s.Device, held))
}

// equal reports whether a service is just what spec would make.
func equal(spec core.ServiceSpec, want *kernel.Desc, s *kernel.Service) bool {
	d := *want
	if tle := &d.Limits[core.TLE]; *tle != (core.Limit{}) {
		tle.Reserved = max(tle.Reserved, kernel.LeastTLEs)
		tle.Max = tle.Reserved
	}
	d.ID, d.Enable = s.ID, true
	var netns uint32
	if spec.Owner.Kind == core.OwnerNetNS {
		netns = spec.Owner.ID
	}
	var from, to uint16
	if len(spec.VNIs) > kernel.MaxVNIs {
		from, to, d.NumVNIs = uint16(spec.VNIs[0]), uint16(spec.VNIs[len(spec.VNIs)-1]), s.NumVNIs
	}
	return d == s.Desc && namespace(s) == netns && s.VNIMin == from && s.VNIMax == to && s.ID != kernel.DefaultID
}
