package kernel_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/refusal"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// desc is a service as a job's: one uid, restricted, small limits, no LE or TLE reserved.
func desc(change ...func(*kernel.Desc)) *kernel.Desc {
	d := &kernel.Desc{
		RestrictedMembers: true, RestrictedVNIs: true, RestrictedTCs: true, ResourceLimits: true,
		NumVNIs: 1, VNIs: [4]uint16{4034}, TCs: [5]bool{false, true, false, true},
		Members: [2]kernel.Member{{ID: 1000, Type: kernel.UID}},
	}
	d.Limits[core.TXQ] = core.Limit{Max: 16, Reserved: 8}
	for _, f := range change {
		f(d)
	}
	return d
}

func limit(r core.Resource, max, reserved uint16) func(*kernel.Desc) {
	return func(d *kernel.Desc) { d.Limits[r] = core.Limit{Max: max, Reserved: reserved} }
}

func members(m ...kernel.Member) func(*kernel.Desc) {
	return func(d *kernel.Desc) { d.Members = [2]kernel.Member{}; copy(d.Members[:], m) }
}

func vnis(v ...uint16) func(*kernel.Desc) {
	return func(d *kernel.Desc) { d.VNIs = [4]uint16{}; d.NumVNIs = uint8(copy(d.VNIs[:], v)) }
}

// must allocates and fails the test where that fails.
func must(t *testing.T, n *kernel.NIC, change ...func(*kernel.Desc)) uint32 {
	t.Helper()
	id, fail, err := n.Alloc(kernel.Root, desc(change...))
	if err != kernel.OK {
		t.Fatalf("alloc: %v %+v", err, fail)
	}
	return id
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

// TestAllocErrno has a row for each rule of the driver's allocation.
func TestAllocErrno(t *testing.T) {
	user := kernel.Caller{EUID: 1000}
	uid := func(id uint32) kernel.Member { return kernel.Member{ID: id, Type: kernel.UID} }
	gid := func(id uint32) kernel.Member { return kernel.Member{ID: id, Type: kernel.GID} }
	netns := kernel.Member{ID: 7, Type: kernel.NetNS}
	off := func(d *kernel.Desc) { d.ResourceLimits = false }
	open := func(d *kernel.Desc) { d.RestrictedVNIs = false }
	everyone := func(d *kernel.Desc) { d.RestrictedMembers = false }
	for _, c := range []struct {
		rule   string
		caller kernel.Caller
		d      *kernel.Desc
		want   kernel.Errno
	}{
		{"a plain service is made", kernel.Root, desc(), kernel.OK},
		{"no CAP_SYS_ADMIN is EPERM", user, desc(), kernel.EPERM},
		{"EPERM comes before EINVAL", user, desc(vnis(0)), kernel.EPERM},
		{"VNI 0 is EINVAL", kernel.Root, desc(vnis(4034, 0)), kernel.EINVAL},
		{"more than 4 VNIs is EINVAL", kernel.Root, desc(func(d *kernel.Desc) { d.NumVNIs = 5 }), kernel.EINVAL},
		{"4 VNIs are made", kernel.Root, desc(vnis(5, 6, 7, 8)), kernel.OK},
		{"no VNI is allowed from 13.1 on", kernel.Root, desc(vnis()), kernel.OK},
		{"VNIs are not looked at without restricted_vnis", kernel.Root, desc(open, func(d *kernel.Desc) { d.NumVNIs = 9 }), kernel.OK},
		{"VNIs 1 and 10 are free for a new service on 14.0.1", kernel.Root, desc(vnis(1, 10)), kernel.OK},
		{"an unknown member type is EINVAL", kernel.Root, desc(members(kernel.Member{ID: 1, Type: 4})), kernel.EINVAL},
		{"a member type is not looked at without restricted_members", kernel.Root, desc(everyone, members(kernel.Member{ID: 1, Type: 4})), kernel.OK},
		{"a NET_NS member is accepted from 14.0 on", kernel.Root, desc(members(netns)), kernel.OK},
		{"max below reserved is EINVAL", kernel.Root, desc(limit(core.EQ, 1, 2)), kernel.EINVAL},
		{"max above the device is EINVAL", kernel.Root, desc(limit(core.TGQ, 513, 0)), kernel.EINVAL},
		{"max of all the device has is made", kernel.Root, desc(limit(core.TGQ, 512, 0)), kernel.OK},
		{"limits are not looked at without resource_limits", kernel.Root, desc(off, limit(core.EQ, 1, 2)), kernel.OK},
		{"uid 4294967295 is EBADR", kernel.Root, desc(members(uid(core.NoUID))), kernel.EBADR},
		{"gid 4294967295 is EBADR", kernel.Root, desc(members(uid(5), gid(core.NoUID))), kernel.EBADR},
		{"EINVAL of limits comes before EBADR", kernel.Root, desc(members(uid(core.NoUID)), limit(core.EQ, 1, 2)), kernel.EINVAL},
		{"a uid twice is EEXIST", kernel.Root, desc(members(uid(5), uid(5))), kernel.EEXIST},
		{"a uid and the like gid are two members", kernel.Root, desc(members(uid(5), gid(5))), kernel.OK},
		{"two NET_NS members both enter namespace 0: EEXIST", kernel.Root, desc(members(netns, kernel.Member{ID: 8, Type: kernel.NetNS})), kernel.EEXIST},
		{"EBADR of the first member comes before EEXIST", kernel.Root, desc(members(uid(core.NoUID), uid(core.NoUID))), kernel.EBADR},
		{"EEXIST comes before ENOSPC", kernel.Root, desc(members(uid(5), uid(5)), limit(core.TXQ, 1024, 1024)), kernel.EEXIST},
		{"reserving more than is unreserved is ENOSPC", kernel.Root, desc(limit(core.TXQ, 1024, 1024)), kernel.ENOSPC},
		{"reserving all that is unreserved is made", kernel.Root, desc(limit(core.TXQ, 1024, 1023)), kernel.OK},
	} {
		t.Run(c.rule, func(t *testing.T) {
			n := kernel.New(&kernel.R1401)
			before := n.Capacity()
			id, fail, err := n.Alloc(c.caller, c.d)
			if err != c.want {
				t.Fatalf("%v, want %v", err, c.want)
			}
			if err == kernel.OK && id != 4 {
				t.Errorf("id %d, want 4", id)
			}
			if err != kernel.OK && (n.Capacity() != before || len(n.Services()) != 3) {
				t.Error("a failed call changed the NIC")
			}
			if err != kernel.OK && err != kernel.ENOSPC && fail != (refusal.FailInfo{}) {
				t.Errorf("fail_info %+v: the driver fills it for ENOSPC only", fail)
			}
		})
	}
}

func TestVNIOverlap(t *testing.T) {
	ranged := func(t *testing.T, n *kernel.NIC, min, max uint32) (uint32, kernel.Errno) {
		id := must(t, n, func(d *kernel.Desc) { d.RestrictedVNIs = false })
		return id, n.SetVNIRange(kernel.Root, id, min, max)
	}
	n := kernel.New(&kernel.R1401)
	must(t, &n)
	must(t, &n) // exact and exact: allowed on 14.0.1
	if _, err := ranged(t, &n, 4032, 4039); err != kernel.EEXIST {
		t.Errorf("a range over another service's VNI: %v, want EEXIST", err)
	}
	if _, err := ranged(t, &n, 2048, 2051); err != kernel.OK {
		t.Errorf("a free range: %v", err)
	}
	if _, err := ranged(t, &n, 2050, 2051); err != kernel.EEXIST {
		t.Errorf("a range in a range: %v, want EEXIST", err)
	}
	if _, _, err := n.Alloc(kernel.Root, desc(vnis(2051))); err != kernel.EEXIST {
		t.Errorf("a VNI in another service's range: %v, want EEXIST", err)
	}
	if _, _, err := n.Alloc(kernel.Root, desc(vnis(2051), limit(core.TXQ, 1024, 1024))); err != kernel.EEXIST {
		t.Errorf("%v: EEXIST of VNIs comes before ENOSPC", err)
	}
	must(t, &n, vnis(2052))

	refused := kernel.R1401
	refused.Overlap = kernel.OverlapRefused
	n = kernel.New(&refused)
	must(t, &n)
	for _, v := range []uint16{4034, 1, 10} {
		if _, _, err := n.Alloc(kernel.Root, desc(vnis(7, v))); err != kernel.EEXIST {
			t.Errorf("VNI %d where overlaps are refused: %v, want EEXIST", v, err)
		}
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
