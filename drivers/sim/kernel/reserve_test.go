package kernel_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/refusal"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// TestFailInfo: rsrc_avail is filled in enum order and stops at the first short resource; what is not asked for, what lies behind, and TLE stay 0.
func TestFailInfo(t *testing.T) {
	type shown struct {
		Err   kernel.Errno
		Fail  refusal.FailInfo
		First core.Resource
		Pool  bool
		OK    bool
	}
	avail := func(kv ...uint16) (a [core.NumResources]uint16) {
		for i := 0; i < len(kv); i += 2 {
			a[kv[i]] = kv[i+1]
		}
		return a
	}
	pte, txq, tgq, eq, le, ac := uint16(core.PTE), uint16(core.TXQ), uint16(core.TGQ), uint16(core.EQ), uint16(core.LE), uint16(core.AC)
	fullTLE := func(t *testing.T, n *kernel.NIC) {
		for range 3 {
			must(t, n, limit(core.TXQ, 0, 0), limit(core.TLE, 8, 8))
		}
	}
	fullLE := func(t *testing.T, n *kernel.NIC) {
		for range 14 {
			must(t, n, limit(core.TXQ, 0, 0), limit(core.LE, 1, 1))
		}
	}
	for _, c := range []struct {
		rule   string
		before func(*testing.T, *kernel.NIC)
		d      *kernel.Desc
		want   shown
	}{
		{"it stops at the first short resource", nil,
			desc(limit(core.PTE, 10, 1), limit(core.TXQ, 8, 8), limit(core.TGQ, 512, 512), limit(core.EQ, 4, 4), limit(core.AC, 2, 2)),
			shown{kernel.ENOSPC, refusal.FailInfo{Avail: avail(pte, 2040, txq, 1023, tgq, 511)}, core.TGQ, false, true}},
		{"what is not asked for stays 0", nil, desc(limit(core.TXQ, 0, 0), limit(core.EQ, 2047, 2047)),
			shown{kernel.ENOSPC, refusal.FailInfo{Avail: avail(eq, 2045)}, core.EQ, false, true}},
		{"a max with nothing reserved is shown too", nil, desc(limit(core.PTE, 5, 0), limit(core.EQ, 2047, 2047)),
			shown{kernel.ENOSPC, refusal.FailInfo{Avail: avail(pte, 2040, txq, 1023, eq, 2045)}, core.EQ, false, true}},
		{"no LE pool is left: entries are all shown, the flag says what it is", fullLE, desc(limit(core.LE, 1, 1), limit(core.AC, 1, 1)),
			shown{kernel.ENOSPC, refusal.FailInfo{Avail: avail(txq, 1023, le, 16384-kernel.EthernetLEs-14, ac, 1020), NoLEPools: true}, core.LE, true, true}},
		{"no TLE pool is left", fullTLE, desc(limit(core.TLE, 8, 8)),
			shown{kernel.ENOSPC, refusal.FailInfo{Avail: avail(txq, 1023), NoTLEPools: true}, core.TLE, true, true}},
		{"the LE pool is looked for before the TLE pool", func(t *testing.T, n *kernel.NIC) { fullLE(t, n); fullTLE(t, n) },
			desc(limit(core.LE, 1, 1), limit(core.TLE, 8, 8)),
			shown{kernel.ENOSPC, refusal.FailInfo{Avail: avail(txq, 1023, le, 16384-kernel.EthernetLEs-14), NoLEPools: true}, core.LE, true, true}},
		{"too few TLEs are never shown", nil, desc(limit(core.TLE, 1537, 1537)),
			shown{kernel.ENOSPC, refusal.FailInfo{Avail: avail(txq, 1023)}, core.TLE, false, false}},
		{"nothing reserved of LE shares pool 0, without count limit", fullLE, desc(limit(core.TXQ, 0, 0), limit(core.LE, 16384, 0)), shown{Err: kernel.OK, First: core.TLE}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			n := kernel.New(&kernel.R1401)
			if c.before != nil {
				c.before(t, &n)
			}
			var got shown
			_, got.Fail, got.Err = n.Alloc(kernel.Root, c.d)
			got.First, got.Pool, got.OK = got.Fail.First(c.d.Limits)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestPools(t *testing.T) {
	n := kernel.New(&kernel.R1401)
	var ids []uint32
	for i := range 3 {
		id := must(t, &n, limit(core.TXQ, 0, 0), limit(core.TLE, 1, 0))
		ids = append(ids, id)
		s, _ := n.Get(id)
		if s.Limits[core.TLE] != (core.Limit{Max: 8, Reserved: 8}) || s.TLEPool != int8(i+1) {
			t.Errorf("service %d: %+v, pool %d: below 8 TLEs are raised to 8, max is reserved, the default service has pool 0", id, s.Limits[core.TLE], s.TLEPool)
		}
	}
	if n.Capacity()[core.TLE].PoolsLeft != 0 {
		t.Error("with the default service's there are 3 TLE pools for others")
	}
	if err := n.Destroy(kernel.Root, ids[1]); err != kernel.OK {
		t.Fatal(err)
	}
	id := must(t, &n, limit(core.TXQ, 0, 0), limit(core.TLE, 2000, 100))
	if s, _ := n.Get(id); s.TLEPool != 2 || s.Limits[core.TLE] != (core.Limit{Max: 100, Reserved: 100}) {
		t.Errorf("pool %d, %+v: a destroyed service's pool is given again, max is forced to reserved", s.TLEPool, s.Limits[core.TLE])
	}

	byMax := kernel.R1401
	byMax.LEPoolByMax, byMax.LEPoolFirst = true, 0
	n = kernel.New(&byMax)
	if left := n.Capacity()[core.LE].PoolsLeft; left != 14 {
		t.Errorf("%d LE pools left: up to SHS 14.0.0 default and ethernet service take 2 of 16", left)
	}
	must(t, &n, limit(core.LE, 1, 0))
	if left := n.Capacity()[core.LE].PoolsLeft; left != 13 {
		t.Errorf("%d LE pools left: up to SHS 14.0.0 a max alone takes one", left)
	}
}

func TestNoResourceLimits(t *testing.T) {
	n := kernel.New(&kernel.R1401)
	id := must(t, &n, func(d *kernel.Desc) { d.ResourceLimits = false })
	s, _ := n.Get(id)
	want := core.Limits{}
	for r, total := range kernel.Total {
		want[r].Max = total
	}
	want[core.TLE] = core.Limit{Max: 8, Reserved: 8}
	if d := cmp.Diff(want, s.Limits); d != "" {
		t.Error("without resource_limits the limits are full maxima, and a TLE pool of 8:", d)
	}
	if c := n.Capacity(); c[core.TLE].PoolsLeft != 2 || c[core.LE].PoolsLeft != 14 {
		t.Errorf("pools left: %+v: it takes a TLE pool and, from 14.0.1 on, no LE pool", c)
	}
}
