package cxi

import (
	"context"
	"fmt"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/refusal"
)

// Create makes services; see core.NICDriver. The NICs work beside each other.
func (d *Driver) Create(ctx context.Context, specs []core.ServiceSpec) ([]core.Created, error) {
	return each(ctx, d, "cannot create service", specs, func(s *core.ServiceSpec) string { return s.Device },
		func(n *nic) func(*core.ServiceSpec) core.Created { return (&maker{n: n}).create },
		func(err *core.Error) core.Created { return core.Created{Err: err} })
}

// maker makes services on one NIC in one visit.
type maker struct {
	n        *nic
	traits   traits
	services []desc // as the driver listed them last
}

func (m *maker) create(spec *core.ServiceSpec) core.Created {
	s, err := m.make(spec)
	if err != nil {
		return core.Created{Err: err}
	}
	return core.Created{Service: s}
}

func (m *maker) make(spec *core.ServiceSpec) (core.Service, *core.Error) {
	want, bad := descriptor(spec)
	if bad != nil {
		return core.Service{}, bad
	}
	m.traits = m.n.traits()
	if bad := m.able(spec); bad != nil {
		return core.Service{}, bad
	}
	if extrasOf(spec) == (extras{}) && m.traits.exact {
		return m.plain(spec, &want)
	}
	if err := m.list(); err != ok {
		return core.Service{}, failure(spec.Device, "cannot list its services", 0, err)
	}
	id, have, whole := m.find(spec, &want, 0)
	if whole {
		return m.found(spec, &want, id)
	}
	if id == 0 {
		var fail failInfo
		var err errno
		if id, fail, err = m.n.alloc(&want); err != ok {
			return core.Service{}, m.refused(spec, &fail, err)
		}
		have = want
		have.id = id
		if !ranged(spec) || !m.traits.ranges {
			have.flags |= enabled
		}
	}
	if err := m.finish(spec, &have); err != ok {
		return core.Service{}, m.undo(spec, id, m.refused(spec, nil, err))
	}
	s, bad := m.readBack(spec, &want, id)
	if bad != nil {
		bad = m.undo(spec, id, bad)
	}
	return s, bad
}

// plain makes a service that its descriptor tells whole, where a NIC may have two equal ones. It makes the service before
// it looks for an equal one: then one list reads the service back and shows whether another stood already.
func (m *maker) plain(spec *core.ServiceSpec, want *desc) (core.Service, *core.Error) {
	id, fail, err := m.n.alloc(want)
	if err != ok {
		if m.list() == ok {
			if other, _, whole := m.find(spec, want, 0); whole {
				return m.found(spec, want, other)
			}
		}
		return core.Service{}, m.refused(spec, &fail, err)
	}
	if err := m.share(id, 1); err != ok {
		return core.Service{}, m.undo(spec, id, m.refused(spec, nil, err))
	}
	if err := m.list(); err != ok {
		return core.Service{}, m.undo(spec, id, failure(spec.Device, "cannot read back service", id, err))
	}
	if other, _, whole := m.find(spec, want, id); whole {
		if err := m.n.destroy(id, true); err != ok {
			return core.Service{}, failure(spec.Device, "cannot remove the second service", id, err)
		}
		return m.found(spec, want, other)
	}
	for i := range m.services {
		if m.services[i].id == id {
			s, bad := m.judge(spec, want, &m.services[i], id)
			if bad != nil {
				bad = m.undo(spec, id, bad)
			}
			return s, bad
		}
	}
	return core.Service{}, core.Errorf(core.NICFailed, "NIC %s: cannot create service: VNIs %s: service %d, just made, is not in the driver's list",
		spec.Device, core.VNIRanges(spec.VNIs), id)
}

// found is a service that stood already: what cannot be read of it stays.
func (m *maker) found(spec *core.ServiceSpec, want *desc, id uint32) (core.Service, *core.Error) {
	// Whoever made it may have been killed before this. In use it stays as it is.
	if err := m.share(id, 0); err != ok && err != ebusy {
		return core.Service{}, failure(spec.Device, "cannot set how many LNIs share an RGID of service", id, err)
	}
	return m.readBack(spec, want, id)
}

// list reads the services that stand.
func (m *maker) list() (err errno) {
	m.services, err = m.n.list()
	return err
}

// able refuses what the driver or the library cannot do, before anything is made.
func (m *maker) able(spec *core.ServiceSpec) *core.Error {
	if f := m.traits.fit; f.severity == core.Critical { // a job would start here, and each of its applications fail
		return core.Errorf(core.NICFailed, "NIC %s: cannot create service: %s: %s", spec.Device, f.what, m.traits.evidence(m.n.lib)).
			WithRemedy(oneRelease)
	}
	needs := func(release, what string, driver, library bool) *core.Error {
		this := m.traits.name()
		if driver {
			this = "a libcxi of " + m.n.lib.newest()
		}
		if driver && library {
			return nil
		}
		return core.Errorf(core.NotSupported, "NIC %s: %s: it needs SHS %s, and this is %s", spec.Device, what, release, this)
	}
	if spec.Owner.Kind == core.OwnerNetNS {
		err := needs("14", fmt.Sprint("a service for network namespace ", spec.Owner.ID), m.traits.netns, m.n.lib.setNetNS != nil && m.n.lib.getNetNS != nil && m.n.lib.enable != nil)
		if err != nil {
			return err
		}
	}
	if ranged(spec) {
		what := fmt.Sprintf("a service with a range of %d VNIs", len(spec.VNIs))
		return needs("13.1", what, m.traits.ranges, m.n.lib.setRange != nil && m.n.lib.getRange != nil && m.n.lib.enable != nil)
	}
	return nil
}

// find looks for a service but this one that equals the spec; or for one that is half made, because whoever made it was killed between two calls: it is finished.
func (m *maker) find(spec *core.ServiceSpec, want *desc, but uint32) (id uint32, have desc, whole bool) {
	full, extra := stands(*want), extrasOf(spec)
	for i := range m.services {
		s := m.services[i]
		if s.id == defaultID || s.id == but || s.has(systemService) {
			continue
		}
		as := s
		as.flags |= enabled
		if len(differences(&full, &as)) > 0 {
			continue
		}
		e := m.n.extras(&s)
		switch {
		case e == extra && s.has(enabled):
			return s.id, s, true
		case extra == (extras{}):
			// a plain service is whole when it stands: this one was disabled by somebody
		case (e.from == extra.from && e.to == extra.to || e.from == 0) && (e.netns == extra.netns || e.netns == 0):
			id, have = s.id, s
		}
	}
	return id, have, false
}

// finish sets what no descriptor holds: LNIs an RGID, a VNI range, and the network namespace, which can be set only while the service is disabled.
func (m *maker) finish(spec *core.ServiceSpec, have *desc) errno {
	if err := m.share(have.id, 1); err != ok {
		return err
	}
	want := extrasOf(spec)
	if want == (extras{}) {
		return ok
	}
	e := m.n.extras(have)
	if have.has(enabled) {
		if err := m.n.enable(have.id, false); err != ok {
			return err
		}
	}
	if want.from != 0 && e.from == 0 {
		if err := m.n.setRange(have.id, spec.VNIs); err != ok {
			return err
		}
	}
	if want.netns != 0 && e.netns == 0 {
		if err := m.n.setNetNS(have.id, want.netns); err != ok {
			return err
		}
	}
	return m.n.enable(have.id, true)
}

// readBack compares what the kernel holds with what was asked for.
func (m *maker) readBack(spec *core.ServiceSpec, want *desc, id uint32) (core.Service, *core.Error) {
	have, err := m.n.get(id)
	if err != ok {
		return core.Service{}, failure(spec.Device, "cannot read back service", id, err)
	}
	return m.judge(spec, want, &have, id)
}

// judge compares a service with what was asked for.
func (m *maker) judge(spec *core.ServiceSpec, want, have *desc, id uint32) (core.Service, *core.Error) {
	full := stands(*want)
	differ := differences(&full, have)
	e := m.n.extras(have)
	if m.n.over() {
		return core.Service{}, failure(spec.Device, "cannot read back service", id, ecanceled)
	}
	if e != extrasOf(spec) {
		differ = append(differ, "VNI range or network namespace")
	}
	if have.id != id {
		differ = append(differ, "id")
	}
	if len(differ) > 0 {
		return core.Service{}, core.Errorf(core.NICFailed, "NIC %s: cannot create service: VNIs %s: service %d, read back, has other %s than were asked for",
			spec.Device, core.VNIRanges(spec.VNIs), id, strings.Join(differ, ", "))
	}
	return view(spec.Device, have, e, use{}), nil
}

// undo removes a service that must not stand: one that is not finished, that is another than was asked for, since nobody knows whom it lets in, or whose
// caller is gone, since nobody will be told of it.
func (m *maker) undo(spec *core.ServiceSpec, id uint32, why *core.Error) *core.Error {
	if err := m.n.destroy(id, true); err != ok {
		return core.Errorf(why.Reason, "%w; and it could not be removed: %w", why, failure(spec.Device, "cannot remove service", id, err)).WithShort(why.Short...)
	}
	return why
}

// refused is why a service was not made; fail is nil where it was made and could not be set up, so that nothing of its limits was short.
func (m *maker) refused(spec *core.ServiceSpec, fail *failInfo, err errno) *core.Error {
	switch {
	case err == enospc && fail != nil:
		var left core.Capacity // unread, nothing is known to be left
		if m.list() == ok {
			left = capacity(m.n.info.totals(), m.services, m.traits)
		}
		return refusal.Short(spec, left, fail.report(), err)
	case err == eexist:
		all, _ := m.n.services() // what cannot be read now is not named
		return refusal.Taken(spec, all, m.traits.exact, err)
	default:
		return failure(spec.Device, "cannot create service: VNIs "+core.VNIRanges(spec.VNIs), 0, err)
	}
}

// differences are the fields in which a service is not what it should be, leaving out id, counter pool, and the VNI fields of a service with a range.
func differences(want, have *desc) (fields []string) {
	for _, f := range []struct {
		name  string
		equal bool
	}{
		{"flags", want.flags&flagsMask == have.flags&flagsMask},
		{"VNIs", !want.has(restrictedVNIs) || want.numVNIs == have.numVNIs && want.vnis == have.vnis},
		{"classes", want.tcs == have.tcs},
		{"members", want.members == have.members},
		{"limits", want.limits == have.limits},
	} {
		if !f.equal {
			fields = append(fields, f.name)
		}
	}
	return fields
}
