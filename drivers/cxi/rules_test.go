package cxi

import (
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/refusal"
	"github.com/weft-hpc/weft/drivers/cxi/testdata/shim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
	"github.com/weft-hpc/weft/drivers/sim/kernel/kerneltest"
)

// called is a NIC whose services are called through libcxi, and whose LNIs are opened behind it.
type called struct {
	n    *nic
	node *shim.Node
}

// TestRules: calls through libcxi get the answers of each release. A newer library makes those that an old one lacks.
func TestRules(t *testing.T) {
	nodes := map[string]called{}
	for _, b := range kerneltest.Drivers {
		node := shim.New(t, b, 1, shim.Lib10)
		lib, err := openLibrary(node.Library())
		if err != nil {
			t.Fatal(err)
		}
		n, no := openNIC(t.Context(), New(), lib, card{name: "cxi0", of: 1})
		if no != ok {
			t.Fatal(no)
		}
		t.Cleanup(n.close)
		nodes[b.Release] = called{n, node}
	}
	kerneltest.Test(t, func(_ testing.TB, b *kernel.Behaviour) kerneltest.NIC {
		nodes[b.Release].node.Do(0, func(k *kernel.NIC) { *k = kernel.New(b) })
		return nodes[b.Release]
	})
}

// as lets the next calls come from c.
func (x called) as(c kernel.Caller) { x.node.Set(func(s *shim.State) { s.Admin(c.Admin) }) }

func (x called) Alloc(c kernel.Caller, d *kernel.Desc) (uint32, refusal.FailInfo, kernel.Errno) {
	x.as(c)
	raw := desc{numVNIs: d.NumVNIs, vnis: d.VNIs}
	flags := []bool{d.RestrictedMembers, d.RestrictedVNIs, d.RestrictedTCs, d.ResourceLimits, d.Enable, d.System}
	for i, on := range flags {
		if on {
			raw.flags |= 1 << i
		}
	}
	for i, on := range d.TCs {
		if on {
			raw.tcs[i] = 1
		}
	}
	for i, m := range d.Members {
		raw.members[i] = member{m.ID, uint32(m.Type)}
	}
	for i, l := range d.Limits {
		raw.limits[i] = limit{l.Max, l.Reserved}
	}
	id, fail, err := x.n.alloc(&raw)
	if err != enospc {
		fail = failInfo{}
	}
	return id, fail.report(), kernel.Errno(err)
}

func (x called) Destroy(c kernel.Caller, id uint32) kernel.Errno {
	x.as(c)
	return kernel.Errno(x.n.destroy(id, false))
}

func (x called) Get(id uint32) (kernel.Service, kernel.Errno) {
	d, err := x.n.get(id)
	return service(&d), kernel.Errno(err)
}

func service(d *desc) (s kernel.Service) {
	s.ID, s.NumVNIs, s.VNIs = d.id, d.numVNIs, d.vnis
	s.RestrictedVNIs, s.RestrictedMembers = d.has(restrictedVNIs), d.has(restrictedMembers)
	s.Enable, s.System = d.has(enabled), d.has(systemService)
	for r, l := range d.limits {
		s.Limits[r] = core.Limit{Max: l.max, Reserved: l.reserved}
	}
	return s
}

func (x called) Services() (all []kernel.Service) {
	list, _ := x.n.list()
	for i := range list {
		all = append(all, service(&list[i]))
	}
	return all
}

func (x called) InUse(id uint32) [core.NumResources]uint16 {
	all, _ := x.n.uses()
	return all[id].inUse
}

func (x called) SetEthernet(up bool) { x.node.Do(0, func(k *kernel.NIC) { k.SetEthernet(up) }) }

func (x called) Enable(c kernel.Caller, id uint32, on bool) kernel.Errno {
	x.as(c)
	return kernel.Errno(x.n.enable(id, on))
}

func (x called) SetLPR(c kernel.Caller, id, lnis uint32) kernel.Errno {
	x.as(c)
	return kernel.Errno(x.n.setLPR(id, lnis))
}

func (x called) LPR(id uint32) (uint32, kernel.Errno) {
	lnis, err := x.n.lpr(id)
	return lnis, kernel.Errno(err)
}

func (x called) SetVNIRange(c kernel.Caller, id, from, to uint32) kernel.Errno {
	x.as(c)
	return kernel.Errno(x.n.setRange(id, []core.VNI{core.VNI(from), core.VNI(to)}))
}

func (x called) VNIRange(id uint32) (from, to uint16, err kernel.Errno) {
	no := x.n.do(true, func() int32 { return x.n.lib.getRange(x.n.handle, id, &from, &to) })
	return from, to, kernel.Errno(no)
}

func (x called) SetNetNS(c kernel.Caller, id, netns uint32) kernel.Errno {
	x.as(c)
	return kernel.Errno(x.n.setNetNS(id, netns))
}

func (x called) NetNS(id uint32) (netns uint32, err kernel.Errno) {
	no := x.n.do(true, func() int32 { return x.n.lib.getNetNS(x.n.handle, id, &netns) })
	return netns, kernel.Errno(no)
}

func (x called) ExclusiveCP(id uint32) (is bool, err kernel.Errno) {
	x.node.Do(0, func(k *kernel.NIC) { is, err = k.ExclusiveCP(id) })
	return is, err
}

func (x called) AllocLNI(c kernel.Caller, service uint32) (lni uint32, err kernel.Errno) {
	x.node.Do(0, func(k *kernel.NIC) { lni, err = k.AllocLNI(c, service) })
	return lni, err
}

func (x called) FreeLNI(lni uint32) (err kernel.Errno) {
	x.node.Do(0, func(k *kernel.NIC) { err = k.FreeLNI(lni) })
	return err
}

func (x called) AllocCP(c kernel.Caller, lni uint32, vni uint16, class int) (err kernel.Errno) {
	x.node.Do(0, func(k *kernel.NIC) { err = k.AllocCP(c, lni, vni, class) })
	return err
}

func (x called) Use(lni uint32, r core.Resource, count uint16) (err kernel.Errno) {
	x.node.Do(0, func(k *kernel.NIC) { err = k.Use(lni, r, count) })
	return err
}
