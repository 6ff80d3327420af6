package node

import (
	"cmp"
	"slices"

	"github.com/weft-hpc/weft/core"
)

// place is the NIC that a service of r was planned on.
func (r *holding) place(device string) Place {
	for _, p := range r.Places {
		if p.Device == device {
			return p
		}
	}
	return Place{Device: device}
}

// now is the NIC of p among devices: the one with its PCI address, under any name. Where one is not known, the name
// counts.
func (p Place) now(devices []core.Device) *core.Device {
	for i := range devices {
		d := &devices[i]
		if p.Bus != "" && d.Bus == p.Bus || (p.Bus == "" || d.Bus == "") && d.Name == p.Device {
			return d
		}
	}
	return nil
}

// began reports whether the kernel's driver has begun with the NIC since p. That ended every earlier service.
func (p Place) began(d *core.Device) bool {
	return p.Probed != "" && d.Probed != "" && p.Probed != d.Probed
}

// same names a NIC also after it came back under another name.
func same(d *core.Device) string { return cmp.Or(d.Bus, d.Name) }

func byPlace(devices []core.Device, nic string) *core.Device {
	for i := range devices {
		if same(&devices[i]) == nic {
			return &devices[i]
		}
	}
	return nil
}

func shows(services []core.Service, s *core.Service) bool {
	return slices.ContainsFunc(services, s.Same)
}

// Gone is a service of a run that is not on its NIC any more.
type Gone struct {
	core.Service
	Restarted bool // the NIC was removed, or its driver was loaded again, which ends every service
}

func (g *Gone) why() string {
	if g.Restarted {
		return describe(&g.Service) + " ended: the NIC was removed, or its driver was loaded again"
	}
	return describe(&g.Service) + " is gone, though its job was not cleaned up: a person or another program removed it"
}

// missed finds the services of runs that are ready and no more on their NICs. A NIC that is away proves nothing. One at
// fault proves only that it restarted. Tasks that begin without a service, or without its NIC, fail with that reason.
func (m *Machine) missed(attempt Attempt, in Read) {
	for _, r := range m.runs {
		if r.State != Ready || r.readyAt >= attempt {
			continue
		}
		if gone := r.gone(in.Services, in.Devices); len(gone) > 0 {
			r.lost = gone[0].why()
		}
		why := cmp.Or(r.lost, r.away(in.Devices))
		if why == r.unfit {
			continue
		}
		if r.unfit = why; why == "" {
			m.publish(r)
		} else {
			m.say(true, r.Grant.Run, why)
			m.withdraw(r)
		}
		m.changed(r)
	}
}

// away says which NIC of r is not there.
func (r *holding) away(devices []core.Device) string {
	for i := range r.Services {
		if name := r.Services[i].Device; r.place(name).now(devices) == nil {
			return "NIC " + name + " is not there"
		}
	}
	return ""
}

// gone are the services of r that are not among those that were read from the NICs.
func (r *holding) gone(services []core.Service, devices []core.Device) (out []Gone) {
	for i := range r.Services {
		s := &r.Services[i]
		p := r.place(s.Device)
		d := p.now(devices)
		if d != nil && (d.Fault == "" || p.began(d)) && !shows(services, s) {
			out = append(out, Gone{*s, p.began(d)})
		}
	}
	return out
}

// renew forgets the driver's word on NICs that have restarted since. The node makes those services again.
func (r *holding) renew(devices []core.Device) {
	for i, p := range r.Places {
		d := device(devices, p.Device)
		if d == nil || p.now(devices) != d || !p.began(d) {
			continue
		}
		r.Places = slices.Clone(r.Places)
		r.Places[i] = placed(d)
		r.claims = slices.DeleteFunc(r.claims, func(s core.Service) bool { return s.Device == p.Device })
	}
}

func placed(d *core.Device) Place {
	return Place{Device: d.Name, Bus: d.Bus, Probed: d.Probed, Sign: d.Sign}
}
