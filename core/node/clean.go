package node

import (
	"fmt"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
)

// clean begins to remove the run. A Create that is under way is waited for.
func (m *Machine) clean(r *holding, why string) {
	if r.State == Ready {
		m.withdraw(r) // no task must start on what goes
	}
	r.State, r.Why = Cleaning, why
	m.dropSteps(r, why)
	if !r.networked() {
		m.cleaned(r)
		return
	}
	m.write(r.Entry)
	m.watch(r)
	m.changed(r)
	if r.activity == idle {
		m.look(r)
	}
}

// mine reports whether s is a service that was made for r: owner and VNIs, and the id where it is recorded. Where a Create was cut short no id is, and
// the spec is all there is to know it by.
func mine(r *holding, s *core.Service) bool {
	if s.System || s.Default || !alike(r, s) {
		return false
	}
	recorded := false
	for i := range r.Services {
		if k := &r.Services[i]; k.Device == s.Device {
			if k.ID == s.ID {
				return true
			}
			recorded = true
		}
	}
	return !recorded && slices.ContainsFunc(r.Specs, func(spec core.ServiceSpec) bool { return spec.Device == s.Device })
}

func alike(r *holding, s *core.Service) bool {
	return s.Owner == core.UID(r.Grant.UID) && slices.Equal(s.VNIs, r.Grant.VNIs)
}

// foreign reports whether s holds a VNI of r and was not made for it, whatever its mark: any root can set that.
func (m *Machine) foreign(r *holding, s *core.Service) bool {
	return !m.served(s) && sharesVNI(s.VNIs, r.Grant.VNIs) && !mine(r, s)
}

func sharesVNI(a, b []core.VNI) bool {
	return slices.ContainsFunc(a, func(v core.VNI) bool { return slices.Contains(b, v) })
}

// prove looks whether anything is left, and removes it. The reading began after the run's last driver call ended, since a run has one call at a time.
func (m *Machine) prove(r *holding, in Read) {
	if in.Err != nil {
		m.stay(r, r.busy, "the NICs cannot be read: "+in.Err.What)
		return
	}
	var left []core.Service
	var other *core.Service
	for i := range in.Services {
		switch s := &in.Services[i]; {
		case mine(r, s):
			left = append(left, *s)
		case other == nil && m.foreign(r, s):
			other = s
		}
	}
	if len(left) > 0 {
		if r.claimed {
			r.claimed = false
			m.stay(r, false, describe(&left[0])+" is still there, although the driver said that it is gone")
			return
		}
		m.destroy(r, left)
		return
	}
	for i := range r.Specs {
		// A NIC at fault may not show what it holds.
		if d := r.place(r.Specs[i].Device).now(in.Devices); d == nil || d.Fault != "" {
			m.stay(r, false, "NIC "+r.Specs[i].Device+" "+unusable(d)+", so it cannot be seen to be clean; a reboot of the node ends it for certain")
			return
		}
	}
	if other != nil {
		why := " holds a VNI of the job and was not made for it; `weft clean` removes it"
		if other.System || other.Default {
			why = " holds a VNI of the job, and the NIC shows it as the system's, which Weft never removes; a reboot of the node ends it"
		}
		m.stay(r, false, describe(other)+why)
		return
	}
	m.cleaned(r)
}

func describe(s *core.Service) string {
	return fmt.Sprintf("NIC %s: service %d with VNIs %s", s.Device, s.ID, core.VNIRanges(s.VNIs))
}

// destroy removes services of the run; they are recorded as made first.
func (m *Machine) destroy(r *holding, left []core.Service) {
	services := r.Services
	for i := range left {
		if !slices.ContainsFunc(services, left[i].Same) {
			services = append(services[:len(services):len(services)], left[i])
		}
	}
	if len(services) != len(r.Services) {
		r.Services = services
		m.write(r.Entry)
	}
	r.sentGone = left
	m.act(Destroy{Attempt: m.start(r, destroying), Run: r.Grant.Run, Origin: r.origin, Services: left})
}

// removed takes what came of a Destroy. What it claims is proved by a reading.
func (m *Machine) removed(in Removed) {
	r := m.end(in.Attempt, destroying)
	if r == nil {
		return
	}
	sent := r.sentGone
	r.sentGone = nil
	if in.Err == nil && len(in.Errs) != len(sent) {
		in.Err = core.Errorf(core.InternalFault, "the driver answered %d services of %d", len(in.Errs), len(sent))
	}
	if in.Err != nil {
		m.stay(r, false, "the driver does not remove its services: "+in.Err.What)
		return
	}
	for i, err := range in.Errs {
		if err != nil {
			busy := err.Code == core.Busy
			why := ": " + err.What
			if busy {
				why = " is still in use"
			}
			m.stay(r, busy, describe(&sent[i])+why)
			return
		}
	}
	r.claimed = true
	m.look(r)
}

// stay notes what the run waits for, and tries again later.
func (m *Machine) stay(r *holding, busy bool, waits string) {
	if busy != r.busy || waits != r.waits {
		r.busy, r.waits = busy, waits
		m.changed(r)
	}
	m.again(r)
}

// cleaned ends a run: a reading proved that nothing of it is left.
func (m *Machine) cleaned(r *holding) {
	if len(r.waiters) > 0 {
		err := r.err
		if err == nil {
			err = core.Errorf(core.Cancelled, "prepare of %v: %s", r.Key, r.Why)
		}
		m.answer(r, err)
	}
	r.State = Clean
	r.Specs, r.Places, r.Services, r.Warnings, r.Grant.Collective, r.Grant.Warnings = nil, nil, nil, nil, nil, nil
	r.rest()
	m.bury(r.Grant.Run)
	if !r.networked() {
		m.write(Delete{r.Name()})
		m.drop(r)
		return
	}
	m.write(r.Entry)
	m.changed(r)
	m.survey.churn++
	m.cleanersDone(r)
}

// stuck is what happens when the NICs have kept a run for too long; it goes on for ever all the same.
func (m *Machine) stuck(r *holding) {
	r.drained, r.drainAt = true, never
	if r.stalls() == never && r.activity == creating {
		return // the node says so already
	}
	var what, prefix string
	switch {
	case r.State == Making && r.err != nil:
		what = "it cannot create services: " + r.err.What
	case r.waits != "":
		what = "it cannot remove services: " + r.waits
	default:
		what = "the NIC driver has not answered"
	}
	if r.State == Cleaning { // the server sees when that is over
		prefix = core.StuckPrefix
	}
	m.blame(prefix + fmt.Sprintf("job %v of uid %d, VNIs %s: after %v %s; end what uses the NIC, or reboot the node",
		r.Key, r.Grant.UID, core.VNIRanges(r.Grant.VNIs), (m.now-r.since).Round(time.Second), what))
}
