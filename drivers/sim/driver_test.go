package sim_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

func TestDevices(t *testing.T) {
	backends(t, func(t *testing.T, o sim.Options) {
		o.Address = 0x100
		d := sim.New(o)
		create(t, d, spec("cxi1", 1000, 4034))
		got, err := d.Devices(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n := kernel.New(&kernel.R1401)
		fresh := n.Capacity()
		taken := fresh
		taken[core.TXQ].Free -= 8
		want := []core.Device{
			{Name: "cxi0", Address: 0x100, Up: true, Retry: true, Capacity: fresh, Classes: core.AllClasses, RGIDs: core.Stock{Total: 255, Free: 253}},
			{Name: "cxi1", Address: 0x101, Up: true, Retry: true, Capacity: taken, Classes: core.AllClasses, RGIDs: core.Stock{Total: 255, Free: 253}},
		}
		for i := range want {
			want[i].Bus, want[i].Probed = fmt.Sprintf("0000:0%d:00.0", i+1), "0/"+want[i].Name
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(core.Device{}, "Sign")); diff != "" {
			t.Error(diff)
		}
	})
}

func TestCreateReadsBack(t *testing.T) {
	backends(t, func(t *testing.T, o sim.Options) {
		d := sim.New(o)
		s := spec("cxi1", 1000, 4034, 4035)
		s.Limits[core.TLE] = core.Limit{Max: 4, Reserved: 1}
		got := create(t, d, s)
		want := core.Service{Device: "cxi1", ID: 4, Owner: core.UID(1000), VNIs: s.VNIs, Classes: s.Classes, Limits: s.Limits, Enabled: true, LNIs: 1}
		want.Limits[core.TLE] = core.Limit{Max: 8, Reserved: 8} // the device raises it
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if again := create(t, d, s); !cmp.Equal(got, again) {
			t.Error("an equal service is returned, not doubled:", cmp.Diff(got, again))
		}
		if diff := cmp.Diff([]core.Service{want}, jobs(t, d)); diff != "" {
			t.Error(diff)
		}
		for name, other := range map[string]core.ServiceSpec{
			"another owner": func() core.ServiceSpec { o := s; o.Owner = core.UID(1001); return o }(),
			"a group":       func() core.ServiceSpec { o := s; o.Owner.Kind = core.OwnerGID; return o }(),
			"other VNIs":    func() core.ServiceSpec { o := s; o.VNIs = []core.VNI{4035, 4034}; return o }(),
			"other classes": func() core.ServiceSpec { o := s; o.Classes = core.BulkData; return o }(),
			"other limits": func() core.ServiceSpec {
				o := s
				o.Limits[core.TXQ].Max = 17
				o.Limits[core.TLE] = core.Limit{}
				return o
			}(),
			"another NIC": func() core.ServiceSpec { o := s; o.Device = "cxi0"; return o }(),
		} {
			if s := create(t, d, func() core.ServiceSpec { other.Limits[core.TLE] = core.Limit{}; return other }()); s.Same(got) {
				t.Errorf("%s: it got the other's service", name)
			}
		}
	})
}

func TestOwners(t *testing.T) {
	d := sim.New(sim.Options{NICs: 1})
	for _, owner := range []core.Owner{core.UID(0), core.UID(1000), {Kind: core.OwnerGID, ID: 50}, {Kind: core.OwnerNetNS, ID: 4026531840}} {
		s := spec("cxi0", 0, 4034)
		s.Owner = owner
		got := create(t, d, s)
		if got.Owner != owner || !got.Enabled {
			t.Errorf("%+v: read back as %+v, enabled %v", owner, got.Owner, got.Enabled)
		}
		if again := create(t, d, s); again.ID != got.ID {
			t.Errorf("%+v: it was doubled", owner)
		}
		if err := destroy(t, d, got); err != nil {
			t.Errorf("%+v: %v", owner, err)
		}
	}
}

// TestErrors: each error number as Weft's error.
func TestErrors(t *testing.T) {
	type shown struct {
		Code   core.Code
		Reason core.Reason
		Class  core.Scope
		Short  []core.Shortage
	}
	change := func(f func(*core.ServiceSpec)) core.ServiceSpec {
		s := spec("cxi0", 1000, 4034)
		f(&s)
		return s
	}
	reserve := func(kv ...uint16) core.ServiceSpec {
		return change(func(s *core.ServiceSpec) {
			for i := 0; i < len(kv); i += 2 {
				s.Limits[kv[i]] = core.Limit{Max: kv[i+1], Reserved: kv[i+1]}
			}
		})
	}
	invalid := shown{core.Invalid, core.BadCall, core.ScopeNone, nil}
	short := func(s core.Shortage) shown {
		s.Device = "cxi0"
		return shown{core.Exhausted, core.NICShort, core.ScopeSystem, []core.Shortage{s}}
	}
	tgq, ac, le, tle := uint16(core.TGQ), uint16(core.AC), uint16(core.LE), uint16(core.TLE)
	fill := func(n int, r uint16) []core.ServiceSpec {
		var out []core.ServiceSpec
		for i := range n {
			s := reserve(r, 8)
			s.VNIs = []core.VNI{core.VNI(5000 + i)}
			out = append(out, s)
		}
		return out
	}
	for _, c := range []struct {
		name   string
		before []core.ServiceSpec
		spec   core.ServiceSpec
		want   shown
	}{
		{"no VNI", nil, change(func(s *core.ServiceSpec) { s.VNIs = nil }), invalid},
		{"five VNIs", nil, change(func(s *core.ServiceSpec) { s.VNIs = []core.VNI{2, 3, 4, 5, 6} }), invalid},
		{"VNI 0", nil, change(func(s *core.ServiceSpec) { s.VNIs = []core.VNI{0} }), invalid},
		{"no owner", nil, change(func(s *core.ServiceSpec) { s.Owner = core.Owner{} }), invalid},
		{"uid 4294967295", nil, change(func(s *core.ServiceSpec) { s.Owner.ID = core.NoUID }), invalid},
		{"max above the device", nil, change(func(s *core.ServiceSpec) { s.Limits[core.CT].Max = 2048 }), invalid},
		{"no such NIC", nil, change(func(s *core.ServiceSpec) { s.Device = "cxi9" }), shown{core.Unavailable, core.NICMissing, core.ScopeNode, nil}},
		{"the first short resource is named, not those behind it", nil, reserve(tgq, 512, ac, 1022), short(core.Shortage{Resource: core.TGQ, Want: 512, Have: 511})},
		{"too few TLEs are worked out", nil, reserve(tle, 1600), short(core.Shortage{Resource: core.TLE, Want: 1600, Have: 1536})},
		{"no TLE pool", fill(3, tle), reserve(tle, 8), short(core.Shortage{Resource: core.TLE, Want: 1, Pool: true})},
		{"no LE pool", fill(14, le), reserve(le, 8), short(core.Shortage{Resource: core.LE, Want: 1, Pool: true})},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := sim.New(sim.Options{NICs: 1})
			for _, s := range c.before {
				create(t, d, s)
			}
			made, err := d.Create(t.Context(), []core.ServiceSpec{c.spec, spec("cxi0", 1000, 77)})
			if err != nil {
				t.Fatal(err)
			}
			if made[1].Err != nil {
				t.Errorf("the spec beside it: %v", made[1].Err)
			}
			e := core.AsError(made[0].Err)
			if e == nil {
				t.Fatal("it was made")
			}
			if diff := cmp.Diff(c.want, shown{e.Code, e.Reason, e.Scope(), e.Short}); diff != "" {
				t.Errorf("%v: %s", e, diff)
			}
		})
	}
}

func TestDestroy(t *testing.T) {
	backends(t, func(t *testing.T, o sim.Options) {
		d := sim.New(o)
		s := create(t, d, spec("cxi0", 1000, 4034))
		all, _ := d.Services(t.Context())
		for _, system := range all[:3] {
			if err := destroy(t, d, system); !errors.Is(err, core.Conflict) {
				t.Errorf("service %d of the system: %v, want Conflict", system.ID, err)
			}
		}
		lni, err := d.Open(t.Context(), "cxi0", s.ID, kernel.Caller{EUID: 1000})
		if err != nil {
			t.Fatal(err)
		}
		if use := jobs(t, d)[0].InUse; use[core.TXQ] != 1 || use[core.EQ] != 0 {
			t.Errorf("in use by an application: %v, want one TXQ, which the limits allow, and no EQ", use)
		}
		if err := destroy(t, d, s); core.AsError(err).Reason != core.ServiceBusy || !errors.Is(err, core.Busy) || !errors.Is(err, kernel.EBUSY) {
			t.Errorf("while an application holds it: %v, want ServiceBusy", err)
		}
		if err := lni.Close(); err != nil {
			t.Fatal(err)
		}
		wrong := s
		wrong.Owner = core.UID(1001)
		if err := destroy(t, d, wrong); core.AsError(err).Reason != core.NICConflict {
			t.Errorf("another's owner: %v, want NICConflict", err)
		}
		wrong = s
		wrong.VNIs = []core.VNI{4035}
		if err := destroy(t, d, wrong); core.AsError(err).Reason != core.NICConflict {
			t.Errorf("other VNIs: %v, want NICConflict", err)
		}
		if err := destroy(t, d, s); err != nil {
			t.Error(err)
		}
		if err := destroy(t, d, s); err != nil {
			t.Errorf("a second time: %v, want nil: it is gone", err)
		}
		next := create(t, d, spec("cxi0", 1001, 5000))
		if err := destroy(t, d, s); next.ID != s.ID || !errors.Is(err, core.Conflict) {
			t.Errorf("id %d was used again for %d: %v, want Conflict", s.ID, next.ID, err)
		}
		s.Device = "cxi7"
		if err := destroy(t, d, s); core.AsError(err).Reason != core.NICMissing {
			t.Errorf("on a NIC that is not there: %v, want NICMissing", err)
		}
	})
}

func TestOpenErrors(t *testing.T) {
	d := sim.New(sim.Options{NICs: 1})
	s := create(t, d, spec("cxi0", 1000, 4034))
	for name, c := range map[string]struct {
		device string
		id     uint32
		uid    uint32
		want   core.Reason
	}{
		"another uid":     {"cxi0", s.ID, 1001, core.NotAllowed},
		"default service": {"cxi0", 1, 1000, core.NotAllowed},
		"unknown service": {"cxi0", 99, 1000, core.BadCall},
		"unknown NIC":     {"cxi1", s.ID, 1000, core.NICMissing},
	} {
		if _, err := d.Open(t.Context(), c.device, c.id, kernel.Caller{EUID: c.uid}); core.AsError(err).Reason != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// TestAdmits: with every release a service lets in its owner and nobody else but root, which is its second member.
func TestAdmits(t *testing.T) {
	for _, b := range kernel.Behaviours() {
		d := sim.New(sim.Options{NICs: 1, Release: b})
		for owner, who := range map[core.Owner]map[kernel.Caller]bool{
			core.UID(1000):                   {{EUID: 1000}: true, {EUID: 1001}: false, {EUID: 1001, EGID: 1000}: false, {EUID: 0}: true},
			core.UID(0):                      {{EUID: 1000, EGID: 1000}: false, {EUID: 0}: true},
			{Kind: core.OwnerGID, ID: 50}:    {{EUID: 1000, EGID: 50}: true, {EUID: 50, EGID: 1000}: false},
			{Kind: core.OwnerNetNS, ID: 777}: {{EUID: 1000, NetNS: 777}: true, {EUID: 1000, NetNS: 778}: false},
		} {
			s := spec("cxi0", 0, 4034)
			s.Owner = owner
			made, err := d.Create(t.Context(), []core.ServiceSpec{s})
			if err != nil {
				t.Fatal(err)
			}
			if owner.Kind == core.OwnerNetNS && b.MemberTypes <= kernel.NetNS {
				if !errors.Is(made[0].Err, core.Unsupported) || len(jobs(t, d)) != 0 {
					t.Errorf("SHS %s: %v: a network namespace needs SHS 14", b.Release, made[0].Err)
				}
				continue
			}
			if made[0].Err != nil {
				t.Fatal(made[0].Err)
			}
			for c, may := range who {
				l, err := d.Open(t.Context(), "cxi0", made[0].Service.ID, c)
				if (err == nil) != may {
					t.Errorf("SHS %s: %+v opens a service of %+v: %v", b.Release, c, owner, err)
				}
				if err == nil {
					l.Close()
				}
			}
			if err := destroy(t, d, made[0].Service); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestVNIRange(t *testing.T) {
	var block []core.VNI
	for v := core.VNI(2048); v < 2048+16; v++ {
		block = append(block, v)
	}
	for _, b := range kernel.Behaviours() {
		d := sim.New(sim.Options{NICs: 1, Release: b})
		made, err := d.Create(t.Context(), []core.ServiceSpec{spec("cxi0", 1000, block...), spec("cxi0", 1000, block...), spec("cxi0", 1000, block[1:]...)})
		if err != nil {
			t.Fatal(err)
		}
		if core.AsError(made[2].Err).Reason != core.BadCall {
			t.Errorf("SHS %s: %v: 15 VNIs are no range", b.Release, made[2].Err)
		}
		if !b.OpenDisabled {
			if !errors.Is(made[0].Err, core.Unsupported) || len(jobs(t, d)) != 0 {
				t.Errorf("SHS %s: %v: a range needs SHS 13.1", b.Release, made[0].Err)
			}
			continue
		}
		if got := made[0].Service; made[0].Err != nil || !got.Enabled || !slices.Equal(got.VNIs, block) || made[1].Service.ID != got.ID {
			t.Errorf("SHS %s: %+v and %+v: want an enabled service with the range, once", b.Release, made[0], made[1])
		}
		made, _ = d.Create(t.Context(), []core.ServiceSpec{spec("cxi0", 1001, block[3])})
		if !errors.Is(made[0].Err, core.Conflict) {
			t.Errorf("SHS %s: %v: another's VNI of the range", b.Release, made[0].Err)
		}
	}
}

// TestShortHidden: what was short is named, also by releases whose own report does not.
func TestShortHidden(t *testing.T) {
	for _, b := range kernel.Behaviours() {
		d := sim.New(sim.Options{NICs: 1, Release: b})
		pooled := func(r core.Resource, n uint16) core.ServiceSpec {
			s := spec("cxi0", 1000, core.VNI(2000+len(jobs(t, d))))
			s.Limits = core.Limits{}
			s.Limits[r] = core.Limit{Max: n, Reserved: n}
			return s
		}
		for _, c := range []struct {
			r     core.Resource
			count int
		}{{core.TLE, 3}, {core.LE, 14}} {
			for range c.count {
				create(t, d, pooled(c.r, 8))
			}
			made, _ := d.Create(t.Context(), []core.ServiceSpec{pooled(c.r, 8)})
			if e := core.AsError(made[0].Err); e == nil || !cmp.Equal(e.Short, []core.Shortage{{Device: "cxi0", Resource: c.r, Pool: true, Want: 1}}) {
				t.Errorf("SHS %s: %v: want a pool of %v to be short", b.Release, made[0].Err, c.r)
			}
		}
		made, _ := d.Create(t.Context(), []core.ServiceSpec{pooled(core.TLE, 1600)})
		if e := core.AsError(made[0].Err); e == nil || !cmp.Equal(e.Short, []core.Shortage{{Device: "cxi0", Resource: core.TLE, Want: 1600, Have: 1512}}) {
			t.Errorf("SHS %s: %v: want 1600 TLEs of 1512", b.Release, made[0].Err)
		}
	}
}

func TestEndedContext(t *testing.T) {
	backends(t, func(t *testing.T, o sim.Options) {
		d := sim.New(o)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if made, err := d.Create(ctx, []core.ServiceSpec{spec("cxi0", 1, 4034)}); core.AsError(err).Reason != core.Cancelled || made != nil {
			t.Errorf("%v: work whose caller is gone is not begun", err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), -1)
		defer cancel()
		if _, err := d.Services(ctx); !errors.Is(err, core.Timeout) {
			t.Errorf("%v, want Timeout", err)
		}
	})
}

// TestIdleInstance: a system of 11,136 nodes stands in one process.
func TestIdleInstance(t *testing.T) {
	const many = 1000
	drivers := make([]*sim.Driver, many)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range drivers {
		drivers[i] = sim.New(sim.Options{Boot: "b1"})
		if _, err := drivers[i].Devices(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / many
	t.Logf("an idle node with 4 NICs: %d bytes", each)
	if each > 2048 {
		t.Errorf("an idle node with 4 NICs takes %d bytes, more than 2 KiB", each)
	}
	runtime.KeepAlive(drivers)
}

func BenchmarkCreateDestroy(b *testing.B) {
	for _, c := range []struct {
		name string
		o    sim.Options
	}{{"memory", sim.Options{}}, {"folder", sim.Options{Dir: "x", NoSync: true}}, {"folder,sync", sim.Options{Dir: "x"}}} {
		b.Run(c.name, func(b *testing.B) {
			if c.o.Dir != "" {
				c.o.Dir = b.TempDir()
			}
			d := sim.New(c.o)
			var specs []core.ServiceSpec
			for i := range 4 {
				specs = append(specs, spec(fmt.Sprintf("cxi%d", i), 1000, 4034))
			}
			services := make([]core.Service, 4)
			for b.Loop() {
				made, err := d.Create(b.Context(), specs)
				if err != nil {
					b.Fatal(err)
				}
				for i := range made {
					services[i] = made[i].Service
				}
				if _, err := d.Destroy(b.Context(), services); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
