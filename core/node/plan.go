package node

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/limits"
)

// plan decides which services to make.
func (m *Machine) plan(r *holding, in Read) {
	if in.Err != nil { // a driver that is just being started must not cost a node
		if m.survey.unread != nil {
			m.fail(r, m.survey.unread)
			return
		}
		r.err = driverError(in.Err, "cannot read the NICs")
		m.again(r)
		if m.survey.failing == 0 {
			m.want()
		}
		return
	}
	r.err = nil
	r.renew(in.Devices)
	if len(r.claims) > 0 {
		s := &r.claims[0]
		m.fail(r, core.Errorf(core.NICFailed, "%s: the driver said that it made it for %v, and the NIC does not show it so", describe(s), s.Owner))
		return
	}
	for i := range in.Services {
		if s := &in.Services[i]; m.foreign(r, s) {
			m.fail(r, core.Errorf(core.NICConflict, "NIC %s: service %d holds VNI %s, which was granted to %v, and was not made for it",
				s.Device, s.ID, core.VNIRanges(s.VNIs), r.Key))
			return
		}
	}
	usable, err := m.usable(r, in.Devices)
	if err != nil {
		m.fail(r, err)
		return
	}
	r.devices = usable
	if err := r.carried(); err != nil {
		m.fail(r, err)
		return
	}
	if len(r.Specs) == 0 {
		err = m.fit(r, in.Services)
	} else {
		err = r.adopt(in.Services)
	}
	if err != nil {
		m.fail(r, err)
		return
	}
	m.create(r)
}

// usable picks the NICs that the run can have, in the order of the inventory, and warns of what is amiss.
func (m *Machine) usable(r *holding, devices []core.Device) ([]core.Device, *core.Error) {
	var usable []core.Device
	var missing, warnings []string
	take := func(name string, d *core.Device) {
		why := unusable(d)
		if back := byPlace(devices, m.survey.names[name]); d == nil && back != nil {
			why = "is back as " + back.Name
		}
		if why != "" {
			missing = append(missing, name+" "+why)
			return
		}
		usable = append(usable, *d)
		if d.Open {
			warnings = append(warnings, "NIC "+name+": its default service is enabled, so every user of the node can use VNIs 1 and 10; an administrator can end that with `cxi_service disable -d NIC -s 1`")
		}
	}
	switch {
	case len(r.Specs) > 0: // after a restart: the NICs that were chosen
		for _, s := range r.Specs {
			take(s.Device, device(devices, s.Device))
		}
	case len(r.Grant.Inventory) > 0:
		for _, name := range r.Grant.Inventory {
			take(name, device(devices, name))
		}
	default:
		for i := range devices {
			take(devices[i].Name, &devices[i])
		}
	}
	all := len(usable) + len(missing)
	need := r.Grant.MinNICs
	if need <= 0 || len(r.Specs) > 0 {
		need = all
	}
	switch {
	case all == 0:
		return nil, core.Errorf(core.NICMissing, "node %s: it has no NIC", m.cfg.Node)
	case len(usable) < need && len(missing) == 0:
		return nil, core.Errorf(core.NICMissing, "node %s: it has %d NICs, and policy asks for at least %d", m.cfg.Node, all, need)
	case len(usable) < need:
		return nil, core.Errorf(core.NICMissing, "node %s: %d of %d NICs can be used, and %d must be: %s", m.cfg.Node, len(usable), all, need, strings.Join(missing, ", "))
	case len(missing) > 0:
		warnings = append(warnings, fmt.Sprintf("node %s: the job has %d of %d NICs: %s", m.cfg.Node, len(usable), all, strings.Join(missing, ", ")))
	}
	if len(r.Specs) == 0 {
		r.Warnings = warnings
	}
	return usable, nil
}

// carried warns of granted classes that a NIC's QoS profile lacks. Classes that the user asked for must all be there.
func (r *holding) carried() *core.Error {
	for _, d := range r.devices {
		lacks := r.Grant.Classes &^ d.Classes
		switch {
		case len(r.Specs) > 0 || d.Classes == 0 || lacks == 0:
		case r.Grant.Asked:
			return core.Errorf(core.ClassMissing, "NIC %s: %s: the job asked for it, and the NIC's QoS profile has only %s",
				d.Name, lacks, d.Classes)
		default:
			r.Warnings = append(r.Warnings, fmt.Sprintf(
				"NIC %s: traffic in %s will fail: its QoS profile has only %s", d.Name, lacks, d.Classes))
		}
	}
	return nil
}

// unusable says why a job cannot have the NIC; empty when it can.
func unusable(d *core.Device) string {
	switch {
	case d == nil:
		return "is not there"
	case d.Fault != "":
		return "is at fault: " + d.Fault
	case !d.Up:
		return "has no link"
	case !d.Retry:
		return "has no retry handler running"
	}
	return ""
}

func device(devices []core.Device, name string) *core.Device {
	for i := range devices {
		if devices[i].Name == name {
			return &devices[i]
		}
	}
	return nil
}

// fit makes the specs of a run. What other runs are about to make counts as made.
func (m *Machine) fit(r *holding, there []core.Service) *core.Error {
	specs := make([]core.ServiceSpec, 0, len(r.devices))
	for _, d := range r.devices {
		for _, o := range m.runs {
			if s := o.plans(d.Name, there); s != nil {
				limits.Take(&d, s.Limits)
				there = append(slices.Clip(there), core.Service{Device: d.Name, Limits: s.Limits, Enabled: true})
			}
		}
		part := r.Grant.Share
		part.Total = cmp.Or(part.Total, m.cfg.Cores)
		want, bounded := limits.Share(r.Grant.Limits, r.Grant.Floor, part, d, there)
		got, short, err := limits.Fit(want, r.Grant.Floor, d)
		if err != nil {
			return core.AsError(err)
		}
		if err := r.whole(d.Name, got); err != nil {
			return err
		}
		for _, w := range bounded {
			if !slices.ContainsFunc(short, func(s limits.Warning) bool { return s.Resource == w.Resource }) {
				r.Warnings = append(r.Warnings, w.String())
			}
		}
		for _, w := range short {
			w.Want = r.Grant.Limits[w.Resource]
			r.Warnings = append(r.Warnings, w.String())
		}
		specs = append(specs, core.ServiceSpec{Device: d.Name, Owner: core.UID(r.Grant.UID), VNIs: r.Grant.VNIs, Classes: r.Grant.Classes, Limits: got})
	}
	r.Specs, r.Places = specs, make([]Place, len(specs))
	for i := range r.devices {
		r.Places[i] = placed(&r.devices[i])
	}
	return nil
}

// whole refuses limits that reserve less than a user wants who takes no less.
func (r *holding) whole(device string, got core.Limits) *core.Error {
	for i, want := range r.Grant.Limits {
		if r.Grant.Exact && got[i].Reserved < want.Reserved {
			n := core.Resource(i) //nolint:gosec // fewer than NumResources
			return core.Errorf(core.BelowFloor, "NIC %s: %s: %d of %d can be reserved, and no_adjust_limits wants all of them",
				device, n, got[i].Reserved, want.Reserved).
				WithShort(core.Shortage{Device: device, Resource: n, Want: want.Reserved, Have: got[i].Reserved}).
				WithRemedy("leave out no_adjust_limits, or ask for nodes without other jobs")
		}
	}
	return nil
}

// plans is the service that r is about to make on a NIC, and that a reading does not show yet; nil: there is none.
func (r *holding) plans(device string, there []core.Service) *core.ServiceSpec {
	if r.State != Making || slices.ContainsFunc(there, func(s core.Service) bool { return s.Device == device && mine(r, &s) }) {
		return nil
	}
	for i := range r.Specs {
		if r.Specs[i].Device == device {
			return &r.Specs[i]
		}
	}
	return nil
}

// adopt takes those services of the run that a reading shows, in the order of its specs: an earlier process may have made
// some that it had no time to record.
func (r *holding) adopt(there []core.Service) *core.Error {
	services := make([]core.Service, 0, len(r.Specs))
	for _, spec := range r.Specs {
		n := 0
		for i := range there {
			if s := &there[i]; s.Device == spec.Device && mine(r, s) {
				if n++; n == 1 {
					services = append(services, *s)
				}
				if d := difference(spec, s); d != "" {
					return core.Errorf(core.NICFailed, "%s: the NIC shows it %s", describe(s), d)
				}
			}
		}
		if n > 1 {
			return core.Errorf(core.NICConflict, "NIC %s: it holds %d services of %v", spec.Device, n, r.Key)
		}
	}
	r.Services = services
	return nil
}

// difference says how a service on a NIC is not what was asked for; empty: it is.
func difference(spec core.ServiceSpec, s *core.Service) string {
	switch {
	case !s.Enabled:
		return "disabled"
	case s.Classes != spec.Classes:
		return fmt.Sprintf("with the traffic classes %v, and %v were asked for", s.Classes, spec.Classes)
	}
	for r, want := range spec.Limits {
		if has := s.Limits[r]; has != want {
			return fmt.Sprintf("with %d %v reserved of at most %d, and %d of at most %d were asked for",
				has.Reserved, core.Resource(r), has.Max, want.Reserved, want.Max)
		}
	}
	return ""
}

// made finds a recorded service on a NIC.
func (r *holding) made(device string) *core.Service {
	for i := range r.Services {
		if r.Services[i].Device == device {
			return &r.Services[i]
		}
	}
	return nil
}
