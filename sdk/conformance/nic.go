package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-hpc/weft/core"
)

var nicCases = slices.Concat(nicReadCases, nicCreateCases, nicDestroyCases, nicCallCases)

// Owners of the suite's services: uids that no account has.
const (
	someone  uint32 = 2147483601
	stranger uint32 = 2147483602
)

// ours reports whether a service is one that the run made: no other names its VNIs.
func (r *run) ours(s core.Service) bool {
	return !s.System && !s.Default && slices.ContainsFunc(s.VNIs, func(v core.VNI) bool { return slices.Contains(r.site.VNIs, v) })
}

// remove destroys every service of the run that is left. A driver that is verified is not believed: what it says is gone is looked for.
func (r *run) remove(ctx context.Context) error {
	i := r.main
	if i.NIC == nil || len(r.site.VNIs) == 0 {
		return nil
	}
	var left []core.Service
	for range 3 {
		all, err := i.NIC.Services(ctx)
		if err != nil {
			return fmt.Errorf("what the case made may be left: services cannot be read: %w", err)
		}
		left = slices.DeleteFunc(all, func(s core.Service) bool { return !r.ours(s) })
		if len(left) == 0 {
			return nil
		}
		if _, err := i.NIC.Destroy(ctx, left); err != nil && ctx.Err() != nil {
			break
		}
	}
	var names []string
	for _, s := range left {
		names = append(names, fmt.Sprintf("`cxi_service delete -d %s -s %d`", s.Device, s.ID))
	}
	return fmt.Errorf("the plugin does not remove what the case made; mend it by %s", strings.Join(names, ", "))
}

// nics are the NICs that can be used; the case is skipped where there are fewer than n.
func (t *T) nics(n int) []core.Device {
	all, err := t.NIC.Devices(t.ctx)
	t.must(err, "Devices")
	all = slices.DeleteFunc(all, func(d core.Device) bool { return d.Fault != "" })
	if len(all) < n {
		t.Skipf("it needs %d NICs that can be used, and there are %d", n, len(all))
	}
	return all
}

// vnis are those that the case may use; it is skipped where there are fewer than n.
func (t *T) vnis(n int) []core.VNI {
	if len(t.Site.VNIs) < n {
		t.Skipf("it needs %d VNIs that nobody uses, and it may use %d: see --vnis", n, len(t.Site.VNIs))
	}
	return t.Site.VNIs
}

// spec is a small service on a NIC that names the n-th VNI of the run.
func (t *T) spec(d core.Device, n int) core.ServiceSpec {
	s := core.ServiceSpec{Device: d.Name, Owner: core.UID(someone), VNIs: t.vnis(n + 1)[n : n+1], Classes: core.BestEffort}
	for _, r := range []core.Resource{core.PTE, core.TXQ, core.TGQ, core.EQ, core.CT, core.AC} {
		has := d.Capacity[r]
		s.Limits[r] = core.Limit{Max: 16, Reserved: 2}
		if has.Total > 0 {
			s.Limits[r] = core.Limit{Max: min(16, has.Total), Reserved: min(2, has.Free/4)}
		}
	}
	if has := d.Capacity[core.LE]; !has.PooledByMax || has.PoolsLeft > 4 {
		s.Limits[core.LE].Max = 64
		if has.Total > 0 {
			s.Limits[core.LE].Max = min(64, has.Total)
		}
	}
	return s
}

// one is a NIC and a small service on it.
func (t *T) one() (core.Device, core.ServiceSpec) {
	d := t.nics(1)[0]
	return d, t.spec(d, 0)
}

// create makes services; one result each is the least that a driver owes.
func (t *T) create(specs ...core.ServiceSpec) []core.Created {
	out, err := t.NIC.Create(t.ctx, specs)
	t.must(err, "Create of %d services failed as a whole", len(specs))
	if len(out) != len(specs) {
		t.Fatalf("Create answered %d results for %d services", len(out), len(specs))
	}
	return out
}

// createOne makes one service; its error is the call's or its own.
func createOne(ctx context.Context, driver core.NICDriver, spec core.ServiceSpec) (core.Service, error) {
	out, err := driver.Create(ctx, []core.ServiceSpec{spec})
	if err != nil {
		return core.Service{}, err
	}
	if len(out) != 1 {
		return core.Service{}, fmt.Errorf("%d results for one service", len(out))
	}
	return out[0].Service, out[0].Err
}

// destroyOne removes one service; its error is the call's or its own.
func destroyOne(ctx context.Context, driver core.NICDriver, s core.Service) error {
	out, err := driver.Destroy(ctx, []core.Service{s})
	if err != nil {
		return err
	}
	if len(out) != 1 {
		return fmt.Errorf("%d results for one service", len(out))
	}
	return out[0]
}

// made makes one service that must succeed.
func (t *T) made(spec core.ServiceSpec) core.Service {
	c := t.create(spec)[0]
	if c.Err != nil {
		if errors.Is(core.AsError(c.Err), core.Exhausted) {
			t.Skipf("the NIC has too little left for a service of the suite: %v", c.Err)
		}
		t.Fatalf("Create %s: %v", about(spec), c.Err)
	}
	return c.Service
}

// services reads every NIC.
func (t *T) services() []core.Service {
	all, err := t.NIC.Services(t.ctx)
	t.must(err, "Services")
	return all
}

// on is what a list has of a device and id.
func on(all []core.Service, s core.Service) (core.Service, bool) {
	i := slices.IndexFunc(all, func(o core.Service) bool { return o.Device == s.Device && o.ID == s.ID })
	if i < 0 {
		return core.Service{}, false
	}
	return all[i], true
}

// ourOwn are the run's services of a list.
func (t *T) ourOwn(all []core.Service) []core.Service {
	return slices.DeleteFunc(slices.Clone(all), func(s core.Service) bool { return !t.run.ours(s) })
}

// destroy removes services; one result each is the least that a driver owes.
func (t *T) destroy(services ...core.Service) []error {
	out, err := t.NIC.Destroy(t.ctx, services)
	t.must(err, "Destroy of %d services failed as a whole", len(services))
	if len(out) != len(services) {
		t.Fatalf("Destroy answered %d results for %d services", len(out), len(services))
	}
	return out
}

// matches compares a service with what was asked for, by the NIC's own rules about limits.
func (t *T) matches(what string, spec core.ServiceSpec, s core.Service, d core.Device) {
	if s.Device != spec.Device || s.ID < 2 {
		t.Errorf("%s: it is %s/%d, want an id above 1 on %s", what, s.Device, s.ID, spec.Device)
	}
	if s.Owner != spec.Owner {
		t.Errorf("%s: its owner is %+v, want %+v: another could use it", what, s.Owner, spec.Owner)
	}
	if !slices.Equal(s.VNIs, spec.VNIs) {
		t.Errorf("%s: its VNIs are %s, want %s", what, core.FormatVNIs(s.VNIs), core.FormatVNIs(spec.VNIs))
	}
	if s.Classes != spec.Classes {
		t.Errorf("%s: its classes are %s, want %s", what, s.Classes, spec.Classes)
	}
	for r, want := range spec.Limits {
		has, got := d.Capacity[r], s.Limits[r]
		if want.Reserved > 0 {
			want.Reserved = max(want.Reserved, has.Least)
		}
		if has.MaxIsReserved {
			want.Max = want.Reserved
		}
		if want.Max = max(want.Max, want.Reserved); got != want {
			t.Errorf("%s: its %s are %d reserved of at most %d, want %d of %d", what, core.Resource(r), got.Reserved, got.Max, want.Reserved, want.Max)
		}
	}
	if !s.Enabled || s.System || s.Default {
		t.Errorf("%s: enabled %v, system %v, default %v: want an enabled one that is a job's", what, s.Enabled, s.System, s.Default)
	}
}

// about is a spec for a person.
func about(s core.ServiceSpec) string {
	return fmt.Sprintf("on %s with VNIs %s for %+v", s.Device, core.FormatVNIs(s.VNIs), s.Owner)
}

// heedful ends the case unless Destroy leaves a service whose VNIs or owner are not those that it was given: an id that is gone may be a job's by
// the time it is named again.
func (t *T) heedful() {
	s := t.made(t.spec(t.nics(1)[0], 0))
	other := s
	other.VNIs = t.vnis(2)[1:2]
	err := t.destroy(other)[0]
	if _, stands := on(t.services(), s); err == nil || !stands {
		t.Fatalf("it is not tried: Destroy does not look at VNIs, so it could remove a job's service")
	}
	t.must(t.destroy(s)[0], "Destroy %s/%d", s.Device, s.ID)
}
