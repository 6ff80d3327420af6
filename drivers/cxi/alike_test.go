package cxi_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/cxi"
	"github.com/weft-hpc/weft/drivers/cxi/testdata/shim"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// pair is one node seen twice: by the simulated driver, which calls the kernel's model itself, and by the real one, which calls it through purego and C.
type pair struct {
	sim   []kernel.NIC
	names []string
	real  *cxi.Driver
	node  *shim.Node
}

func newPair(t testing.TB, b *kernel.Behaviour, nics int) *pair {
	p := &pair{}
	p.real, p.node = on(t, b, nics, shim.LibraryOf(b))
	p.fresh(b, nics)
	return p
}

// fresh makes both nodes as the driver's probe leaves them.
func (p *pair) fresh(b *kernel.Behaviour, nics int) {
	p.sim, p.names = nil, nil
	for i := range nics {
		p.sim = append(p.sim, kernel.New(b))
		p.names = append(p.names, fmt.Sprintf("cxi%d", i))
		p.node.Do(i, func(n *kernel.NIC) { *n = kernel.New(b) })
	}
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

// shown is an error as far as anybody can tell two apart.
type shown struct {
	Code   core.Code
	Reason core.Reason
	What   string
	Remedy string
	Short  []core.Shortage
}

func show(err error) shown {
	if err == nil {
		return shown{}
	}
	e := core.AsError(err)
	return shown{e.Code, e.Reason, e.What, e.Remedy, e.Short}
}

func (p *pair) index(device string) int {
	for i, n := range p.names {
		if n == device {
			return i
		}
	}
	return -1
}

func (p *pair) create(t fataler, s core.ServiceSpec) (core.Service, error) {
	t.Helper()
	at := p.index(s.Device)
	want := sim.CreateOn(&p.sim[at], s)
	made, err := p.real.Create(noContext, []core.ServiceSpec{s})
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	if d := cmp.Diff(show(want.Err), show(made[0].Err)); d != "" {
		t.Fatalf("create %+v: sim and cxi fail differently: %s", s, d)
	}
	want.Service.LNIs = 0 // only a list of the cxi driver has them
	if d := cmp.Diff(want.Service, made[0].Service); d != "" {
		t.Fatalf("create %+v: sim and cxi made different services: %s", s, d)
	}
	return made[0].Service, made[0].Err
}

func (p *pair) destroy(t fataler, s core.Service) error {
	t.Helper()
	want := sim.DestroyOn(&p.sim[p.index(s.Device)], s)
	errs, err := p.real.Destroy(noContext, []core.Service{s})
	if err != nil {
		t.Fatalf("destroy: %v", err)
	}
	if d := cmp.Diff(show(want), show(errs[0])); d != "" {
		t.Fatalf("destroy %+v: sim and cxi differ: %s", s, d)
	}
	return errs[0]
}

// both does something behind the drivers' backs, to both nodes.
func (p *pair) both(nic int, f func(*kernel.NIC)) {
	f(&p.sim[nic])
	p.node.Do(nic, f)
}

// same compares what both nodes hold and what both drivers say of it.
func (p *pair) same(t fataler) {
	t.Helper()
	var want []core.Service
	var devices []core.Device
	for i := range p.sim {
		want = append(want, sim.ServicesOn(&p.sim[i], p.names[i])...)
		def, _ := p.sim[i].Get(kernel.DefaultID)
		devices = append(devices, core.Device{Name: p.names[i], Address: 0x100 + uint32(i), Up: true, Retry: true, Open: def.Enable, Capacity: p.sim[i].Capacity(),
			Classes: core.LowLatency | core.BulkData | core.BestEffort, RGIDs: core.Stock{Total: 255, Free: 253}}) // as the stand-in's sysfs says
		p.node.Do(i, func(n *kernel.NIC) {
			if d := cmp.Diff(p.sim[i].Services(), n.Services()); d != "" {
				t.Fatalf("the two kernels hold different services: %s", d)
			}
		})
	}
	got, err := p.real.Services(noContext)
	if err != nil {
		t.Fatalf("services: %v", err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("sim and cxi read different services: %s", d)
	}
	seen, err := p.real.Devices(noContext)
	if err != nil {
		t.Fatalf("devices: %v", err)
	}
	for i := range min(len(seen), len(devices)) {
		if seen[i].Sign == (core.Sign{}) {
			t.Fatalf("NIC %s has no sign", seen[i].Name)
		}
		devices[i].Bus, devices[i].Probed = seen[i].Bus, seen[i].Probed // of the stand-in's sysfs
		devices[i].Sign = seen[i].Sign
	}
	if d := cmp.Diff(devices, seen); d != "" {
		t.Fatalf("sim and cxi see different NICs: %s", d)
	}
}

func block(from core.VNI, n int) (out []core.VNI) {
	for i := range n {
		out = append(out, from+core.VNI(i))
	}
	return out
}

// TestAlike: both drivers say alike what Weft does with the answers of each release, which kerneltest lists.
func TestAlike(t *testing.T) {
	change := func(f func(*core.ServiceSpec)) core.ServiceSpec {
		s := spec("cxi0", 1000, 4034)
		f(&s)
		return s
	}
	reserve := func(r core.Resource, max, reserved uint16) core.ServiceSpec {
		return change(func(s *core.ServiceSpec) { s.Limits[r] = core.Limit{Max: max, Reserved: reserved} })
	}
	owned := func(kind core.OwnerKind, id uint32) core.ServiceSpec {
		return change(func(s *core.ServiceSpec) { s.Owner = core.Owner{Kind: kind, ID: id} })
	}
	all := func(r core.Reason) [5]core.Reason { return [5]core.Reason{r, r, r, r, r} }
	const (
		fine     core.Reason = ""
		conflict             = core.NICConflict
		bad                  = core.BadCall
		short                = core.NICShort
		cannot               = core.NotSupported
	)
	for _, c := range []struct {
		what   string
		before []core.ServiceSpec
		spec   core.ServiceSpec
		want   [5]core.Reason // 12.0, 13.0, 13.1, 14.0.0, 14.0.1
	}{
		{"a user's service", nil, spec("cxi0", 1000, 4034), all(fine)},
		{"root's service", nil, spec("cxi0", 0, 4034), all(fine)},
		{"a group's service", nil, owned(core.OwnerGID, 50), all(fine)},
		{"group 0's service", nil, owned(core.OwnerGID, 0), all(fine)},
		{"four VNIs", nil, spec("cxi0", 1000, 5, 6, 7, 8), all(fine)},
		{"five VNIs", nil, spec("cxi0", 1000, 4, 5, 6, 7, 8), all(bad)},
		{"no VNI", nil, spec("cxi0", 1000), all(bad)},
		{"nobody's service", nil, owned(core.OwnerUID, core.NoUID), [5]core.Reason{fine, bad, bad, bad, bad}},
		{"a service with no owner", nil, owned(core.OwnerNone, 0), all(bad)},
		{"no classes", nil, change(func(s *core.ServiceSpec) { s.Classes = 0 }), all(fine)},
		{"a network namespace's service", nil, owned(core.OwnerNetNS, 4026531840), [5]core.Reason{cannot, cannot, cannot, fine, fine}},
		{"a VNI range", nil, spec("cxi0", 1000, block(2048, 16)...), [5]core.Reason{cannot, cannot, fine, fine, fine}},
		{"a VNI range of a network namespace", nil, change(func(s *core.ServiceSpec) {
			s.VNIs, s.Owner = block(2048, 8), core.Owner{Kind: core.OwnerNetNS, ID: 77}
		}), [5]core.Reason{cannot, cannot, cannot, fine, fine}},
		{"a VNI range over the default service's VNIs", nil, spec("cxi0", 1000, block(8, 8)...), [5]core.Reason{cannot, cannot, conflict, conflict, conflict}},
		{"a range that is not aligned", nil, spec("cxi0", 1000, block(2050, 8)...), all(bad)},
		{"another service's VNI", []core.ServiceSpec{spec("cxi0", 1001, 4034)}, spec("cxi0", 1000, 4034), [5]core.Reason{fine, conflict, conflict, conflict, fine}},
		{"an equal service", []core.ServiceSpec{spec("cxi0", 1000, 4034)}, spec("cxi0", 1000, 4034), all(fine)},
		{"max above the device", nil, reserve(core.TGQ, 513, 0), all(bad)},
		{"reserved above what is left", nil, reserve(core.TGQ, 512, 512), all(short)},
		{"TLEs below the least", nil, reserve(core.TLE, 4, 1), all(fine)},
		{"TLEs above what is left", nil, reserve(core.TLE, 1600, 1600), all(short)},
		{"a fourth service with TLEs", []core.ServiceSpec{tles(5), tles(6), tles(7)}, tles(8), all(short)},
		{"a fifteenth service with a max of LEs", les(14, 0), les(15, 0)[14], [5]core.Reason{short, short, short, short, fine}},
	} {
		for i, b := range []*kernel.Behaviour{&kernel.R120, &kernel.R130, &kernel.R131, &kernel.R1400, &kernel.R1401} {
			t.Run(c.what+"/"+b.Release, func(t *testing.T) {
				p := newPair(t, b, 1)
				for _, s := range c.before {
					if _, err := p.create(t, s); err != nil {
						t.Fatalf("%+v: %v", s, err)
					}
				}
				made, err := p.create(t, c.spec)
				p.same(t)
				if got := show(err).Reason; got != c.want[i] {
					t.Fatalf("%v: want %q", err, c.want[i])
				}
				if err == nil {
					if again, err := p.create(t, c.spec); err != nil || again.ID != made.ID {
						t.Errorf("a second time: %+v, %v: it was doubled", again, err)
					}
					if err := p.destroy(t, made); err != nil {
						t.Error(err)
					}
					if err := p.destroy(t, made); err != nil {
						t.Errorf("a second time: %v", err)
					}
					p.same(t)
				}
			})
		}
	}
}

func tles(vni core.VNI) core.ServiceSpec {
	s := spec("cxi0", 1000, vni)
	s.Limits[core.TLE] = core.Limit{Max: 8, Reserved: 8}
	return s
}

func les(n int, reserved uint16) (out []core.ServiceSpec) {
	for i := range n {
		s := spec("cxi0", 1000, core.VNI(100+i))
		s.Limits[core.LE] = core.Limit{Max: 8, Reserved: reserved}
		out = append(out, s)
	}
	return out
}

// TestRandomAlike does random things to both nodes.
func TestRandomAlike(t *testing.T) {
	pairs := map[*kernel.Behaviour]*pair{}
	for _, b := range kernel.Behaviours() {
		pairs[b] = newPair(t, b, 2)
	}
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SampledFrom(kernel.Behaviours()).Draw(t, "release")
		p := pairs[b]
		p.fresh(b, 2)
		device := rapid.SampledFrom(p.names)
		var known []core.Service
		t.Repeat(map[string]func(*rapid.T){
			"create": func(t *rapid.T) {
				s := spec(device.Draw(t, "device"), 0)
				s.Owner = core.Owner{Kind: rapid.SampledFrom([]core.OwnerKind{core.OwnerUID, core.OwnerUID, core.OwnerGID, core.OwnerNetNS, core.OwnerNone}).Draw(t, "kind"), ID: rapid.SampledFrom([]uint32{0, 1000, 1001, core.NoUID}).Draw(t, "owner")}
				if s.Owner == (core.Owner{Kind: core.OwnerNetNS}) {
					t.Skip("namespace 0 is none")
				}
				from, n := core.VNI(rapid.Uint16Range(0, 20).Draw(t, "vni")), rapid.SampledFrom([]int{0, 1, 1, 1, 2, 4, 5, 8}).Draw(t, "vnis")
				s.VNIs = block(from, n)
				s.Classes = core.Classes(rapid.Uint8Range(0, 15).Draw(t, "classes"))
				for r, total := range kernel.Total {
					if rapid.IntRange(0, 4).Draw(t, "some") == 0 {
						top := rapid.SampledFrom([]uint16{1, 8, total / 4, total, total + 1}).Draw(t, "max")
						s.Limits[r] = core.Limit{Max: top, Reserved: rapid.SampledFrom([]uint16{0, 1, top / 2, top, top + 1}).Draw(t, "reserved")}
					}
				}
				if made, err := p.create(t, s); err == nil {
					known = append(known, made)
				}
			},
			"destroy": func(t *rapid.T) {
				if len(known) == 0 {
					t.Skip()
				}
				s := rapid.SampledFrom(known).Draw(t, "service")
				switch rapid.IntRange(0, 5).Draw(t, "as") {
				case 0:
					s.Owner.ID++
				case 1:
					s.ID = rapid.Uint32Range(0, 9).Draw(t, "id")
				}
				_ = p.destroy(t, s)
			},
			"remove the system's": func(t *rapid.T) {
				nic := rapid.IntRange(0, 1).Draw(t, "nic")
				_ = p.destroy(t, rapid.SampledFrom(sim.ServicesOn(&p.sim[nic], p.names[nic])).Draw(t, "service"))
			},
			"open": func(t *rapid.T) {
				id, who := rapid.Uint32Range(1, 8).Draw(t, "id"), rapid.SampledFrom([]uint32{0, 1000, 1001}).Draw(t, "uid")
				p.both(rapid.IntRange(0, 1).Draw(t, "nic"), func(n *kernel.NIC) {
					if lni, err := n.AllocLNI(kernel.Caller{EUID: who, EGID: who}, id); err == kernel.OK {
						_, _ = n.Use(lni, core.TXQ, 1), n.Use(lni, core.TLE, 1)
					}
				})
			},
			"close": func(t *rapid.T) {
				lni := rapid.Uint32Range(3, 9).Draw(t, "lni")
				p.both(rapid.IntRange(0, 1).Draw(t, "nic"), func(n *kernel.NIC) { _ = n.FreeLNI(lni) })
			},
			"an administrator": func(t *rapid.T) {
				vni := rapid.Uint16Range(1, 20)
				d := kernel.Desc{RestrictedVNIs: rapid.Bool().Draw(t, "restricted"), NumVNIs: rapid.Uint8Range(0, 2).Draw(t, "vnis"),
					VNIs: [4]uint16{vni.Draw(t, "vni"), vni.Draw(t, "another")}}
				d.RestrictedMembers, d.System = rapid.Bool().Draw(t, "members"), rapid.Bool().Draw(t, "system")
				for i := range d.Members {
					d.Members[i] = kernel.Member{ID: uint32(1000 + i), Type: rapid.SampledFrom([]kernel.MemberType{
						kernel.Ignore, kernel.UID, kernel.GID}).Draw(t, "member")}
				}
				on := rapid.Bool().Draw(t, "default")
				p.both(rapid.IntRange(0, 1).Draw(t, "nic"), func(n *kernel.NIC) {
					_, _, _ = n.Alloc(kernel.Root, &d)
					_ = n.Enable(kernel.Root, 1, on)
				})
			},
			"": func(t *rapid.T) { p.same(t) },
		})
	})
}
