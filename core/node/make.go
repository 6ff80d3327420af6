package node

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/limits"
)

// read takes a reading of the NICs to whoever asked for it.
func (m *Machine) read(in Read) {
	if m.survey.attempt != 0 && in.Attempt == m.survey.attempt {
		m.surveyed(in)
		return
	}
	r := m.end(in.Attempt, looking)
	if r == nil {
		return
	}
	m.sighted(in)
	found := r.seen(in.Services)
	switch r.State {
	case Making:
		m.plan(r, in)
	case Cleaning:
		if found {
			m.write(r.Entry)
		}
		m.prove(r, in)
	case Asking, Ready, Clean:
	}
}

// seen takes those services of the driver's answer that a reading shows, if any. The others stay claims.
func (r *holding) seen(there []core.Service) (found bool) {
	services := slices.Clip(r.Services)
	var claims []core.Service
	for _, c := range r.claims {
		if slices.ContainsFunc(there, c.Same) {
			services = append(services, c)
		} else {
			claims = append(claims, c)
		}
	}
	found = len(services) > len(r.Services)
	r.Services, r.claims = services, claims
	return found
}

// create makes what is not made yet.
func (m *Machine) create(r *holding) {
	made := func(s core.ServiceSpec) bool {
		return r.made(s.Device) != nil || slices.ContainsFunc(r.claims, func(c core.Service) bool { return c.Device == s.Device })
	}
	todo := slices.DeleteFunc(slices.Clone(r.Specs), made)
	if len(todo) == 0 {
		m.ready(r)
		return
	}
	m.write(r.Entry)
	r.sent = todo
	r.looked, r.stalled = m.now, false
	m.act(Create{Attempt: m.start(r, creating), Run: r.Grant.Run, Origin: r.origin, Specs: todo})
	m.due = min(m.due, r.stalls())
}

// made takes what came of a Create. What it claims is proved by a reading.
func (m *Machine) made(in Made) {
	r := m.end(in.Attempt, creating)
	if r == nil {
		return
	}
	sent := r.sent
	r.sent = nil
	if in.Err == nil && len(in.Results) != len(sent) {
		in.Err = core.Errorf(core.InternalFault, "the driver answered %d services of %d", len(in.Results), len(sent))
	}
	var bad *core.Error
	var short []*core.Error // beside sent
	if in.Err != nil {
		bad = driverError(in.Err, "cannot create services")
	} else {
		short = make([]*core.Error, len(sent))
		for i, res := range in.Results {
			err := result(sent[i], res)
			switch {
			case err == nil:
				r.claims = append(r.claims, res.Service)
			case err.Code == core.Exhausted:
				short[i] = err
			case bad == nil:
				bad = err
			}
		}
	}
	switch {
	case r.State == Cleaning: // a clean-up came meanwhile
		m.look(r)
	case in.Err != nil && in.Err.Reason == core.DriverAway && !r.died:
		// The driver's process ended, which is no fault of a NIC. What it made before is found by the reading; the rest is asked of the next one.
		r.died, r.err = true, bad
		m.act(Say{Bad: true, Run: r.Grant.Run, Origin: r.origin, Text: bad.What + "; tried once more when the driver is back"})
		m.again(r)
	case bad != nil:
		m.fail(r, bad)
	case len(r.Services)+len(r.claims) < len(r.Specs):
		m.refit(r, sent, short)
	default:
		m.look(r)
	}
}

// result judges one service against its spec.
func result(spec core.ServiceSpec, res core.Created) *core.Error {
	if res.Err != nil {
		err := core.AsError(res.Err)
		if err.Code == core.Exhausted {
			return err
		}
		return driverError(err, "NIC "+spec.Device+": cannot create service")
	}
	s := &res.Service
	if s.Device != spec.Device || s.Owner != spec.Owner || !slices.Equal(s.VNIs, spec.VNIs) || s.Classes != spec.Classes || s.System || s.Default {
		return core.Errorf(core.NICConflict, "NIC %s: service %d is not the one that was asked for: it has VNIs %s, owner %v and traffic classes %v",
			spec.Device, s.ID, core.VNIRanges(s.VNIs), s.Owner, s.Classes)
	}
	return nil
}

// refit makes smaller what a NIC had too little for, which somebody else took since it was read.
func (m *Machine) refit(r *holding, sent []core.ServiceSpec, short []*core.Error) {
	specs := slices.Clone(r.Specs)
	for i, e := range short {
		if e == nil {
			continue
		}
		dev := device(r.devices, sent[i].Device)
		of := lack{sent[i].Device, core.NumResources}
		if len(e.Short) > 0 {
			of.resource = e.Short[0].Resource
		}
		if r.refits[of] >= m.cfg.Refits || dev == nil {
			m.fail(r, core.Errorf(core.NICShort, "NIC %s: it refused the service %d times for lack of the same resource: %w",
				sent[i].Device, r.refits[of]+1, e).WithShort(e.Short...))
			return
		}
		if r.refits == nil {
			r.refits = map[lack]int{}
		}
		r.refits[of]++
		got, warnings, err := limits.Refit(sent[i].Limits, e.Short, r.Grant.Floor, *dev)
		if err != nil {
			m.fail(r, core.AsError(err))
			return
		}
		if err := r.whole(sent[i].Device, got); err != nil {
			m.fail(r, err)
			return
		}
		for j := range specs {
			if specs[j].Device == sent[i].Device {
				specs[j].Limits = got
			}
		}
		for _, w := range warnings {
			w.Want = r.Grant.Limits[w.Resource] // not what the step before had: the user is told once what it lacks of its wish
			about := fmt.Sprintf("NIC %s: %v: ", w.Device, w.Resource)
			kept := slices.DeleteFunc(slices.Clone(r.Warnings), func(s string) bool { return strings.HasPrefix(s, about) })
			r.Warnings = append(kept, w.String())
		}
	}
	r.Specs = specs
	m.create(r)
}

// ready ends a prepare that succeeded.
func (m *Machine) ready(r *holding) {
	r.State, r.err, r.readyAt = Ready, nil, m.attempt
	r.rest()
	m.write(r.Entry)
	m.publish(r)
	m.answer(r, nil)
	m.changed(r)
	m.absolve(r)
	if short := r.warnings(); len(short) > 0 {
		m.act(Short{Run: r.Grant.Run, Origin: r.origin, Warnings: short})
	}
}

// fail rolls back: all NICs or none. Who waits is answered when that is done, or soon.
func (m *Machine) fail(r *holding, err *core.Error) {
	r.err = err
	m.act(Say{Bad: true, Run: r.Grant.Run, Origin: r.origin, Text: err.What})
	if err.Scope() == core.ScopeNode {
		m.blame(err.Line())
	}
	soon := m.now + m.cfg.CleanReply
	for i := range r.waiters {
		r.waiters[i].until = min(r.waiters[i].until, soon)
		m.due = min(m.due, r.waiters[i].until)
	}
	m.clean(r, err.What)
}

// driverError is a driver's failure as the node's.
func driverError(err *core.Error, what string) *core.Error {
	if err.Scope() == core.ScopeNode {
		return core.Errorf(err.Reason, "%s: %w", what, err).WithRemedy(err.Remedy) // the driver's own word: it knows more than its reason
	}
	return core.Errorf(core.NICFailed, "%s: %w", what, err)
}
