package kernel_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
	"github.com/weft-hpc/weft/drivers/sim/kernel/kerneltest"
)

var desc, limit, vnis = kerneltest.Desc, kerneltest.Limit, kerneltest.VNIs

// TestRules: the model answers as the driver's sources say.
func TestRules(t *testing.T) {
	kerneltest.Test(t, func(_ testing.TB, b *kernel.Behaviour) kerneltest.NIC {
		n := kernel.New(b)
		return &n
	})
}

// must makes a service.
func must(t *testing.T, n *kernel.NIC, change ...kerneltest.Change) uint32 {
	t.Helper()
	return kerneltest.Made(t, n, change...)
}

func TestPristine(t *testing.T) {
	n := kernel.New(&kernel.R1401)
	type row struct {
		ID             uint32
		System, Enable bool
	}
	var got []row
	for _, s := range n.Services() {
		got = append(got, row{s.ID, s.System, s.Enable})
	}
	want := []row{{1, false, false}, {2, true, true}, {3, true, true}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error("the default service is disabled, ethernet and retry handler are the system's:", d)
	}
	def, _ := n.Get(1)
	if def.Limits[core.TLE] != (core.Limit{Max: 512, Reserved: 512}) || def.VNIs != [4]uint16{1, 10} || def.NumVNIs != 2 {
		t.Errorf("default service: %+v: want 512/512 TLEs and VNIs 1 and 10", def)
	}
	c := n.Capacity()
	want2 := core.Capacity{
		core.PTE: {Total: 2048, Free: 2040}, core.TXQ: {Total: 1024, Free: 1023}, core.TGQ: {Total: 512, Free: 511}, core.EQ: {Total: 2047, Free: 2045},
		core.CT: {Total: 2047, Free: 2047}, core.LE: {Total: 16384, Free: 16384 - kernel.EthernetLEs, Pooled: true, PoolsLeft: 14},
		core.TLE: {Total: 2048, Free: 1536, Least: 8, MaxIsReserved: true, Pooled: true, PooledByMax: true, PoolsLeft: 3}, core.AC: {Total: 1022, Free: 1020},
	}
	if d := cmp.Diff(want2, c); d != "" {
		t.Error("capacity of a NIC just probed:", d)
	}
	if len(n.LNIs()) != 2 {
		t.Errorf("LNIs: %v: want those of the two system services", n.LNIs())
	}
}

func TestIDsAreReusedAtOnce(t *testing.T) {
	n := kernel.New(&kernel.R1401)
	var ids []uint32
	for range 100 {
		ids = append(ids, must(t, &n, limit(core.TXQ, 1, 0)))
	}
	for _, gone := range []int{50, 3, 80} {
		if err := n.Destroy(kernel.Root, ids[gone]); err != kernel.OK {
			t.Fatal(err)
		}
		if id := must(t, &n); id != ids[gone] {
			t.Errorf("id %d: want the lowest free, %d", id, ids[gone])
		}
		if s := n.Services(); s[len(s)-1].ID != ids[gone] {
			t.Error("the list is in the order of creation")
		}
	}
}

func TestEnableOnAlloc(t *testing.T) {
	n := kernel.New(&kernel.R1401)
	if s, _ := n.Get(must(t, &n)); !s.Enable {
		t.Error("a service with VNIs is enabled whatever its enable says")
	}
	if s, _ := n.Get(must(t, &n, func(d *kernel.Desc) { d.RestrictedVNIs, d.Enable = false, true })); s.Enable {
		t.Error("a service without restricted_vnis is made disabled from 13.1 on")
	}
}
