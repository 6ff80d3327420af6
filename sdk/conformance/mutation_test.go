package conformance

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim"
)

// mutant is a driver with one fault: what is nil it does right.
type mutant struct {
	core.NICDriver
	devices  func(m *mutant, ctx context.Context) ([]core.Device, error)
	services func(m *mutant, ctx context.Context) ([]core.Service, error)
	create   func(m *mutant, ctx context.Context, specs []core.ServiceSpec) ([]core.Created, error)
	destroy  func(m *mutant, ctx context.Context, services []core.Service) ([]error, error)

	mu   sync.Mutex
	kept []core.Service
}

func (m *mutant) Devices(ctx context.Context) ([]core.Device, error) {
	if m.devices != nil {
		return m.devices(m, ctx)
	}
	return m.NICDriver.Devices(ctx)
}

func (m *mutant) Services(ctx context.Context) ([]core.Service, error) {
	if m.services != nil {
		return m.services(m, ctx)
	}
	return m.NICDriver.Services(ctx)
}

func (m *mutant) Create(ctx context.Context, specs []core.ServiceSpec) ([]core.Created, error) {
	if m.create != nil {
		return m.create(m, ctx, specs)
	}
	return m.NICDriver.Create(ctx, specs)
}

func (m *mutant) Destroy(ctx context.Context, services []core.Service) ([]error, error) {
	if m.destroy != nil {
		return m.destroy(m, ctx, services)
	}
	return m.NICDriver.Destroy(ctx, services)
}

// asks makes a create that asks for something else.
func asks(change func(*core.ServiceSpec)) func(*mutant, context.Context, []core.ServiceSpec) ([]core.Created, error) {
	return func(m *mutant, ctx context.Context, specs []core.ServiceSpec) ([]core.Created, error) {
		specs = slices.Clone(specs)
		for i := range specs {
			change(&specs[i])
		}
		return m.NICDriver.Create(ctx, specs)
	}
}

// answers makes a create whose results are changed.
func answers(change func(core.ServiceSpec, *core.Created)) func(*mutant, context.Context, []core.ServiceSpec) ([]core.Created, error) {
	return func(m *mutant, ctx context.Context, specs []core.ServiceSpec) ([]core.Created, error) {
		out, err := m.NICDriver.Create(ctx, specs)
		for i := range out {
			change(specs[i], &out[i])
		}
		return out, err
	}
}

// says makes a destroy whose results are changed.
func says(change func(error) error) func(*mutant, context.Context, []core.Service) ([]error, error) {
	return func(m *mutant, ctx context.Context, services []core.Service) ([]error, error) {
		out, err := m.NICDriver.Destroy(ctx, services)
		for i := range out {
			out[i] = change(out[i])
		}
		return out, err
	}
}

// shows makes a list of services that lacks some.
func shows(without func(core.Service) bool) func(*mutant, context.Context) ([]core.Service, error) {
	return func(m *mutant, ctx context.Context) ([]core.Service, error) {
		all, err := m.NICDriver.Services(ctx)
		return slices.DeleteFunc(all, without), err
	}
}

// as is what the NIC holds under an id, whatever VNIs and owner are asked for.
func (m *mutant) as(ctx context.Context, s core.Service) core.Service {
	all, _ := m.NICDriver.Services(ctx)
	if held, ok := on(all, s); ok {
		return held
	}
	return s
}

var mutations = []struct {
	name string
	rule string // one of its cases must fail
	make mutant
}{
	{"tells EBUSY as a NIC that failed", "D5", mutant{destroy: says(func(err error) error {
		if err != nil && errors.Is(core.AsError(err), core.Busy) {
			return core.Errorf(core.NICFailed, "NIC cxi0: destroy: it failed")
		}
		return err
	})}},
	{"swallows busy", "D5", mutant{destroy: says(func(err error) error {
		if err != nil && errors.Is(core.AsError(err), core.Busy) {
			return nil
		}
		return err
	})}},
	{"tells a service as gone and leaves it", "D5", mutant{destroy: func(_ *mutant, _ context.Context, services []core.Service) ([]error, error) {
		return make([]error, len(services)), nil
	}}},
	{"gives a service to another owner", "D4", mutant{create: asks(func(s *core.ServiceSpec) { s.Owner.ID = stranger + 1 })}},
	{"gives a service to a group of the owner's number", "D4", mutant{create: asks(func(s *core.ServiceSpec) { s.Owner.Kind = core.OwnerGID })}},
	{"ignores the classes", "D4", mutant{create: asks(func(s *core.ServiceSpec) { s.Classes = core.AllClasses })}},
	{"ignores the limits", "D4", mutant{create: asks(func(s *core.ServiceSpec) { s.Limits = core.Limits{core.TXQ: {Max: 1024}} })}},
	{"takes the first VNI alone", "D4", mutant{create: asks(func(s *core.ServiceSpec) { s.VNIs = s.VNIs[:min(1, len(s.VNIs))] })}},
	{"sorts the VNIs", "D4", mutant{create: asks(func(s *core.ServiceSpec) {
		s.VNIs = slices.Clone(s.VNIs)
		slices.Sort(s.VNIs)
	})}},
	{"ends the batch at a failure and hides what it made", "D8", mutant{create: func(m *mutant, ctx context.Context, specs []core.ServiceSpec) ([]core.Created, error) {
		out, err := m.NICDriver.Create(ctx, specs)
		for _, c := range out {
			if c.Err != nil && len(specs) > 1 {
				return nil, c.Err
			}
		}
		return out, err
	}}},
	{"rolls back", "D8", mutant{create: func(m *mutant, ctx context.Context, specs []core.ServiceSpec) ([]core.Created, error) {
		out, err := m.NICDriver.Create(ctx, specs)
		if slices.ContainsFunc(out, func(c core.Created) bool { return c.Err != nil }) {
			for i, c := range out {
				if c.Err == nil {
					_, _ = m.NICDriver.Destroy(ctx, []core.Service{c.Service})
					out[i] = core.Created{Err: core.Errorf(core.Cancelled, "NIC cxi0: create: rolled back")}
				}
			}
		}
		return out, err
	}}},
	{"remembers its services instead of reading the NIC", "D1", mutant{
		services: func(m *mutant, ctx context.Context) ([]core.Service, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			if m.kept == nil {
				m.kept, _ = m.NICDriver.Services(ctx)
			}
			return slices.Clone(m.kept), nil
		},
		create: func(m *mutant, ctx context.Context, specs []core.ServiceSpec) ([]core.Created, error) {
			out, err := m.NICDriver.Create(ctx, specs)
			m.mu.Lock()
			defer m.mu.Unlock()
			for _, c := range out {
				if c.Err == nil {
					m.kept = append(m.kept, c.Service)
				}
			}
			return out, err
		},
		destroy: func(m *mutant, ctx context.Context, services []core.Service) ([]error, error) {
			out, err := m.NICDriver.Destroy(ctx, services)
			m.mu.Lock()
			defer m.mu.Unlock()
			m.kept = slices.DeleteFunc(m.kept, func(s core.Service) bool { return slices.ContainsFunc(services, s.Same) })
			return out, err
		},
	}},
	{"remembers what is free of a NIC", "D1", mutant{devices: func() func(*mutant, context.Context) ([]core.Device, error) {
		var once sync.Once
		var all []core.Device
		return func(m *mutant, ctx context.Context) ([]core.Device, error) {
			once.Do(func() { all, _ = m.NICDriver.Devices(ctx) })
			return slices.Clone(all), nil
		}
	}()}},
	{"makes a second service of an equal spec", "D2", mutant{create: func(m *mutant, ctx context.Context, specs []core.ServiceSpec) ([]core.Created, error) {
		specs = slices.Clone(specs)
		for i := range specs { // so that the NIC takes it for another
			m.mu.Lock()
			m.kept = append(m.kept, core.Service{})
			n := len(m.kept)
			m.mu.Unlock()
			if n%2 == 0 && specs[i].Limits[core.PTE].Max > 0 {
				specs[i].Limits[core.PTE].Max--
			}
		}
		return m.NICDriver.Create(ctx, specs)
	}}},
	{"takes a service with the same VNIs for an equal one", "D2", mutant{create: func(m *mutant, ctx context.Context, specs []core.ServiceSpec) ([]core.Created, error) {
		all, _ := m.NICDriver.Services(ctx)
		out, err := m.NICDriver.Create(ctx, specs)
		for i, spec := range specs {
			if at := slices.IndexFunc(all, func(s core.Service) bool { return s.Device == spec.Device && slices.Equal(s.VNIs, spec.VNIs) }); at >= 0 {
				out[i] = core.Created{Service: all[at]}
			}
		}
		return out, err
	}}},
	{"answers what was asked for instead of what was made", "D3", mutant{create: answers(func(spec core.ServiceSpec, c *core.Created) {
		c.Service.Limits, c.Service.Classes = spec.Limits, spec.Classes
	})}},
	{"answers an id that it never made", "D3", mutant{create: answers(func(_ core.ServiceSpec, c *core.Created) { c.Service.ID += 1000 })}},
	{"destroys by id, whatever the VNIs are", "D5", mutant{destroy: func(m *mutant, ctx context.Context, services []core.Service) ([]error, error) {
		services = slices.Clone(services)
		for i := range services {
			services[i].VNIs = m.as(ctx, services[i]).VNIs
		}
		return m.NICDriver.Destroy(ctx, services)
	}}},
	{"destroys by id, whoever the owner is", "D5", mutant{destroy: func(m *mutant, ctx context.Context, services []core.Service) ([]error, error) {
		services = slices.Clone(services)
		for i := range services {
			services[i].Owner = m.as(ctx, services[i]).Owner
		}
		return m.NICDriver.Destroy(ctx, services)
	}}},
	{"leaves another's service and says that it is gone", "D5", mutant{destroy: says(func(err error) error {
		if err != nil && errors.Is(core.AsError(err), core.Conflict) {
			return nil
		}
		return err
	})}},
	{"tells a service that is gone as not found", "D5", mutant{destroy: func(m *mutant, ctx context.Context, services []core.Service) ([]error, error) {
		all, _ := m.NICDriver.Services(ctx)
		out, err := m.NICDriver.Destroy(ctx, services)
		for i, s := range services {
			if _, ok := on(all, s); !ok {
				out[i] = core.Errorf(core.NotThere, "NIC %s: service %d: there is none", s.Device, s.ID)
			}
		}
		return out, err
	}}},
	{"says exhausted without what was short", "D7", mutant{create: answers(func(_ core.ServiceSpec, c *core.Created) {
		if c.Err != nil {
			e := *core.AsError(c.Err)
			e.Short = nil
			c.Err = &e
		}
	})}},
	{"says that a short resource is a failed NIC", "D7", mutant{create: answers(func(_ core.ServiceSpec, c *core.Created) {
		if c.Err != nil && errors.Is(core.AsError(c.Err), core.Exhausted) {
			c.Err = core.Errorf(core.NICFailed, "NIC cxi0: create: ENOSPC")
		}
	})}},
	{"names resources behind the short one, as a naive loop does", "D7", mutant{create: answers(func(_ core.ServiceSpec, c *core.Created) {
		if e := core.AsError(c.Err); e != nil && e.Code == core.Exhausted {
			more := *e
			more.Short = append(slices.Clone(e.Short), core.Shortage{Device: "cxi0", Resource: core.AC, Want: 2})
			c.Err = &more
		}
	})}},
	{"hides the default service", "D9", mutant{services: shows(func(s core.Service) bool { return s.Default })}},
	{"hides the system's services", "D9", mutant{services: shows(func(s core.Service) bool { return s.System })}},
	{"does not mark the default service", "D9", mutant{services: func(m *mutant, ctx context.Context) ([]core.Service, error) {
		all, err := m.NICDriver.Services(ctx)
		for i := range all {
			all[i].Default = false
		}
		return all, err
	}}},
	{"says that a system service is gone when it is to go", "D6", mutant{destroy: func(m *mutant, ctx context.Context, services []core.Service) ([]error, error) {
		out, err := m.NICDriver.Destroy(ctx, services)
		for i, s := range services {
			if s.System || s.Default {
				out[i] = nil
			}
		}
		return out, err
	}}},
	{"takes a spec without an owner", "D10", mutant{create: asks(func(s *core.ServiceSpec) {
		if s.Owner.Kind == core.OwnerNone {
			s.Owner = core.UID(stranger)
		}
	})}},
	{"answers in another order", "C4", mutant{create: func(m *mutant, ctx context.Context, specs []core.ServiceSpec) ([]core.Created, error) {
		out, err := m.NICDriver.Create(ctx, specs)
		slices.Reverse(out)
		return out, err
	}}},
	{"has no heed of its deadline", "C3", mutant{create: func(m *mutant, ctx context.Context, specs []core.ServiceSpec) ([]core.Created, error) {
		out, err := m.NICDriver.Create(context.WithoutCancel(ctx), specs)
		if ctx.Err() != nil {
			return nil, core.Errorf(core.TimedOut, "NIC cxi0: create: %w", ctx.Err())
		}
		return out, err
	}}},
	{"goes on after it has returned", "C3", mutant{create: func(m *mutant, ctx context.Context, specs []core.ServiceSpec) ([]core.Created, error) {
		if ctx.Err() != nil {
			go func() { _, _ = m.NICDriver.Create(context.WithoutCancel(ctx), specs) }()
			return nil, core.Errorf(core.TimedOut, "NIC cxi0: create: %w", ctx.Err())
		}
		return m.NICDriver.Create(ctx, specs)
	}}},
	{"hands out another caller's result", "C1", mutant{create: func(m *mutant, ctx context.Context, specs []core.ServiceSpec) ([]core.Created, error) {
		out, err := m.NICDriver.Create(ctx, specs)
		if len(out) != 1 || out[0].Err != nil {
			return out, err
		}
		m.mu.Lock()
		m.kept = append(m.kept, out[0].Service)
		n := len(m.kept)
		last := m.kept[max(0, n-2)]
		m.mu.Unlock()
		if n > 1 && !slices.Equal(last.VNIs, out[0].Service.VNIs) {
			out[0].Service = last
		}
		return out, err
	}}},
	{"panics at an empty batch", "C4", mutant{create: func(m *mutant, ctx context.Context, specs []core.ServiceSpec) ([]core.Created, error) {
		_ = specs[0]
		return m.NICDriver.Create(ctx, specs)
	}}},
}

// TestMutations shows that the suite can fail: each fault of a driver is found by a case of the rule that it breaks, and nothing is left on the NIC.
func TestMutations(t *testing.T) {
	t.Parallel()
	if len(mutations) < 10 {
		t.Fatal("too few")
	}
	for i := range mutations {
		one := &mutations[i]
		t.Run(one.name, func(t *testing.T) {
			options, site := simulated(t)
			report := verify(t, Value(func() any {
				return &mutant{NICDriver: sim.New(options), devices: one.make.devices, services: one.make.services, create: one.make.create, destroy: one.make.destroy}
			}), site, "")
			caught(t, report, one.rule)
			if one.make.destroy == nil && one.make.services == nil && one.name != "goes on after it has returned" {
				all, err := sim.New(options).Services(t.Context())
				if err != nil || len(slices.DeleteFunc(all, func(s core.Service) bool { return s.System || s.Default })) > 0 {
					t.Errorf("the run left %+v, %v", all, err)
				}
			}
		})
	}
}

// caught wants a failed case of the rule.
func caught(t *testing.T, report *Report, rule string) {
	t.Helper()
	var failed []string
	found := false
	for _, r := range report.Results {
		if r.Outcome == Failed {
			failed = append(failed, r.Rule+" "+r.Case+": "+strings.Join(r.Why, "; "))
			found = found || r.Rule == rule
		}
	}
	if !found {
		t.Errorf("no case of %s failed; those that did: %s", rule, strings.Join(failed, "\n"))
	}
	t.Log(strings.Join(failed, "\n"))
}

// A case that hangs is over when its time is, and what it made is removed.
func TestHang(t *testing.T) {
	t.Parallel()
	options, site := simulated(t)
	site.Patience = 100 * time.Millisecond
	release := make(chan struct{})
	report := verify(t, Value(func() any {
		return &mutant{NICDriver: sim.New(options), destroy: func(m *mutant, ctx context.Context, services []core.Service) ([]error, error) {
			if len(services) == 0 {
				<-release
			}
			return m.NICDriver.Destroy(ctx, services)
		}}
	}), site, "C2|D2 a service equal")
	close(release)
	caught(t, report, "C2")
	if report.Passed == 0 {
		t.Error("the cases before did not pass")
	}
}
