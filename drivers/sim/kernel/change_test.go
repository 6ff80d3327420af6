package kernel_test

import (
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

func TestDestroy(t *testing.T) {
	n := kernel.New(&kernel.R1401)
	id := must(t, &n)
	user := kernel.Caller{EUID: 1000}
	check := func(rule string, got, want kernel.Errno) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %v, want %v", rule, got, want)
		}
	}
	check("without CAP_SYS_ADMIN", n.Destroy(user, id), kernel.EPERM)
	check("the default service", n.Destroy(kernel.Root, 1), kernel.EINVAL)
	check("an unknown service", n.Destroy(kernel.Root, 99), kernel.EINVAL)
	check("a system service, which holds an LNI of its own", n.Destroy(kernel.Root, 2), kernel.EBUSY)
	lni, err := n.AllocLNI(user, id)
	check("an LNI", err, kernel.OK)
	check("while an LNI is open", n.Destroy(kernel.Root, id), kernel.EBUSY)
	check("enable while an LNI is open", n.Enable(kernel.Root, id, false), kernel.EBUSY)
	check("lpr while an LNI is open", n.SetLPR(kernel.Root, id, 2), kernel.EBUSY)
	check("free", n.FreeLNI(lni), kernel.OK)
	check("free twice", n.FreeLNI(lni), kernel.EINVAL)
	check("once it is closed", n.Destroy(kernel.Root, id), kernel.OK)
	check("twice", n.Destroy(kernel.Root, id), kernel.EINVAL)
	fresh := kernel.New(&kernel.R1401)
	if n.Capacity() != fresh.Capacity() {
		t.Error("destroying a service gives back all that it took")
	}
}

func TestSettings(t *testing.T) {
	n := kernel.New(&kernel.R1401)
	exact := must(t, &n)
	open := must(t, &n, func(d *kernel.Desc) { d.RestrictedVNIs = false })
	other := must(t, &n, func(d *kernel.Desc) { d.RestrictedVNIs = false })
	bare := must(t, &n, members())
	r := kernel.Root
	for _, c := range []struct {
		rule      string
		got, want kernel.Errno
	}{
		{"the default service can be enabled", n.Enable(r, 1, true), kernel.OK},
		{"enable of an unknown service", n.Enable(r, 99, true), kernel.EINVAL},
		{"enable without privilege", n.Enable(kernel.Caller{}, exact, true), kernel.EPERM},
		{"lpr above 8", n.SetLPR(r, exact, 9), kernel.EINVAL},
		{"lpr of an unknown service", n.SetLPR(r, 99, 2), kernel.EINVAL},
		{"lpr 8", n.SetLPR(r, exact, 8), kernel.OK},
		{"a range with restricted_vnis", n.SetVNIRange(r, exact, 64, 127), kernel.EINVAL},
		{"a range from 0", n.SetVNIRange(r, open, 0, 63), kernel.EINVAL},
		{"a range above 65535", n.SetVNIRange(r, open, 65536, 65536), kernel.EINVAL},
		{"a range the wrong way round", n.SetVNIRange(r, open, 127, 64), kernel.EINVAL},
		{"a range of no power of two", n.SetVNIRange(r, open, 64, 126), kernel.EINVAL},
		{"a range not aligned", n.SetVNIRange(r, open, 65, 66), kernel.EINVAL},
		{"a range", n.SetVNIRange(r, open, 64, 127), kernel.OK},
		{"a second range", n.SetVNIRange(r, open, 128, 255), kernel.EEXIST},
		{"a range over the default service's VNI 10", n.SetVNIRange(r, other, 8, 15), kernel.EEXIST},
		{"enable after the range, which does not", n.Enable(r, open, true), kernel.OK},
		{"netns of an unknown service", n.SetNetNS(r, 99, 7), kernel.EINVAL},
		{"netns beside a uid", n.SetNetNS(r, exact, 7), kernel.EEXIST},
		{"netns while enabled", n.SetNetNS(r, bare, 7), kernel.EBUSY},
		{"disable", n.Enable(r, bare, false), kernel.OK},
		{"netns", n.SetNetNS(r, bare, 7), kernel.OK},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.rule, c.got, c.want)
		}
	}
}

func TestLNI(t *testing.T) {
	n := kernel.New(&kernel.R1401)
	byUID := must(t, &n)
	byGID := must(t, &n, members(kernel.Member{ID: 50, Type: kernel.GID}))
	open := must(t, &n, func(d *kernel.Desc) { d.RestrictedMembers = false })
	byNS := must(t, &n, members())
	n.Enable(kernel.Root, byNS, false)
	n.SetNetNS(kernel.Root, byNS, 7)
	n.Enable(kernel.Root, byNS, true)
	off := must(t, &n)
	n.Enable(kernel.Root, off, false)
	for _, c := range []struct {
		rule string
		who  kernel.Caller
		svc  uint32
		want kernel.Errno
	}{
		{"unknown service", kernel.Caller{}, 99, kernel.EINVAL},
		{"disabled, before membership", kernel.Caller{EUID: 1}, off, kernel.EKEYREVOKED},
		{"the default service is disabled", kernel.Caller{}, 1, kernel.EKEYREVOKED},
		{"the uid", kernel.Caller{EUID: 1000}, byUID, kernel.OK},
		{"another uid", kernel.Caller{EUID: 1001}, byUID, kernel.EPERM},
		{"root has no bypass", kernel.Root, byUID, kernel.EPERM},
		{"the effective gid", kernel.Caller{EUID: 1, EGID: 50}, byGID, kernel.OK},
		{"a uid that equals the gid", kernel.Caller{EUID: 50}, byGID, kernel.EPERM},
		{"everybody without restricted_members", kernel.Caller{EUID: 77}, open, kernel.OK},
		{"the network namespace", kernel.Caller{EUID: 77, NetNS: 7}, byNS, kernel.OK},
		{"another namespace", kernel.Caller{EUID: 77, NetNS: 8}, byNS, kernel.EPERM},
		{"no namespace is not a member", kernel.Caller{EUID: 77}, byNS, kernel.EPERM},
	} {
		if _, err := n.AllocLNI(c.who, c.svc); err != c.want {
			t.Errorf("%s: %v, want %v", c.rule, err, c.want)
		}
	}
}

func TestRGIDs(t *testing.T) {
	for _, c := range []struct{ lpr, most uint32 }{{1, 253}, {8, 253 * 8}} { // 255, less those of the two system services
		n := kernel.New(&kernel.R1401)
		id, user := must(t, &n), kernel.Caller{EUID: 1000}
		if err := n.SetLPR(kernel.Root, id, c.lpr); err != kernel.OK {
			t.Fatal(err)
		}
		for i := range c.most {
			if _, err := n.AllocLNI(user, id); err != kernel.OK {
				t.Fatalf("lpr %d, LNI %d: %v", c.lpr, i, err)
			}
		}
		if free := n.FreeRGIDs(); free != 0 {
			t.Errorf("lpr %d: %d RGIDs are free", c.lpr, free)
		}
		if _, err := n.AllocLNI(user, id); err != kernel.ENOSPC {
			t.Errorf("lpr %d: LNI %d: %v: want ENOSPC, RGIDs are exhausted", c.lpr, c.most, err)
		}
		n.FreeLNI(10)
		if lni, err := n.AllocLNI(user, id); err != kernel.OK || lni != 10 {
			t.Errorf("LNI %d, %v: want the freed 10 again", lni, err)
		}
	}
}

func TestUse(t *testing.T) {
	n := kernel.New(&kernel.R1401)
	id := must(t, &n, limit(core.TXQ, 16, 8))
	lni, _ := n.AllocLNI(kernel.Caller{EUID: 1000}, id)
	if err := n.Use(lni, core.EQ, 1); err != kernel.EBADR {
		t.Errorf("a resource with max 0: %v, want EBADR", err)
	}
	if err := n.Use(lni, core.TXQ, 16); err != kernel.OK {
		t.Errorf("up to max: %v", err)
	}
	if err := n.Use(lni, core.TXQ, 1); err != kernel.ENOSPC {
		t.Errorf("above max: %v, want ENOSPC", err)
	}
	if s, _ := n.Get(id); s.InUse[core.TXQ] != 16 {
		t.Errorf("in use: %v", s.InUse)
	}
	greedy := must(t, &n, limit(core.TXQ, 1024, 0), vnis(7))
	lni2, _ := n.AllocLNI(kernel.Caller{EUID: 1000}, greedy)
	if err := n.Use(lni2, core.TXQ, 1024-16+1); err != kernel.ENOSPC {
		t.Errorf("more than the device has left: %v, want ENOSPC", err)
	}
	if err := n.Use(lni2, core.TXQ, 1024-16); err != kernel.OK {
		t.Errorf("all that the device has left: %v", err)
	}
	starved := must(t, &n, limit(core.TXQ, 8, 8), vnis(8))
	lni3, _ := n.AllocLNI(kernel.Caller{EUID: 1000}, starved)
	if err := n.Use(lni3, core.TXQ, 1); err != kernel.ENOSPC {
		t.Errorf("reserved, but another service took it: %v, want ENOSPC", err)
	}
	n.FreeLNI(lni)
	if s, _ := n.Get(id); s.InUse[core.TXQ] != 0 {
		t.Errorf("in use after the LNI is closed: %v", s.InUse)
	}
	if err := n.Use(lni3, core.TXQ, 1); err != kernel.OK {
		t.Errorf("after it is given back: %v", err)
	}
}

func TestFreeRGIDs(t *testing.T) {
	n := kernel.New(&kernel.R1401)
	if got := n.FreeRGIDs(); got != kernel.RGIDs-2 { // the ethernet service and the retry handler have one each
		t.Fatalf("%d RGIDs are free on a new NIC", got)
	}
}
