package kerneltest

import (
	"fmt"
	"testing"

	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

const (
	setNetNS = "cxi_svc_set_netns, cass_svc.c"
	getNetNS = "cxi_svc_get_netns, cass_svc.c"
)

// namespaces are the rules of services for network namespaces.
var namespaces = []row{
	{"netns: of a service that is disabled and has no member", setNetNS, func(t testing.TB, n NIC) string {
		return inNetNS(n, bare(t, n), 7)
	}, from140(invalid, "7")},
	{"netns: while enabled", setNetNS, func(t testing.TB, n NIC) string {
		return inNetNS(n, Made(t, n, Members()), 7)
	}, from140(invalid, busy)},
	{"netns: beside a uid", setNetNS, func(t testing.TB, n NIC) string {
		return inNetNS(n, Made(t, n), 7)
	}, from140(invalid, exists)},
	{"netns: without restricted_members", setNetNS, func(t testing.TB, n NIC) string {
		return inNetNS(n, Made(t, n, Everybody, Members()), 7)
	}, from140(invalid, exists)},
	{"netns: without CAP_SYS_ADMIN", privileges, func(t testing.TB, n NIC) string {
		return n.SetNetNS(owner, bare(t, n), 7).Error()
	}, from140(invalid, perm)},
	{"netns: of an unknown service", setNetNS, func(_ testing.TB, n NIC) string {
		return inNetNS(n, 99, 7)
	}, always(invalid)},
	{"netns: of the default service", setNetNS, func(_ testing.TB, n NIC) string {
		return inNetNS(n, kernel.DefaultID, 1)
	}, from140(invalid, exists)},
	{"netns: 4294967295", setNetNS, func(t testing.TB, n NIC) string {
		return inNetNS(n, bare(t, n), nobody.ID)
	}, from140(invalid, badr)},
	{"netns: the same again", setNetNS, func(t testing.TB, n NIC) string {
		id := bare(t, n)
		_ = n.SetNetNS(kernel.Root, id, 7)
		return inNetNS(n, id, 7)
	}, from140(invalid, exists)},
	{"netns: a higher one, too", setNetNS, func(t testing.TB, n NIC) string {
		id := bare(t, n)
		_ = n.SetNetNS(kernel.Root, id, 7)
		return inNetNS(n, id, 8)
	}, from140(invalid, "7")},
	{"netns: a lower one, too", setNetNS, func(t testing.TB, n NIC) string {
		id := bare(t, n)
		_ = n.SetNetNS(kernel.Root, id, 7)
		return inNetNS(n, id, 6)
	}, from140(invalid, "6")},
	{"netns: where VNIs are named without restricted_vnis", setNetNS, func(t testing.TB, n NIC) string {
		id := Made(t, n, Open, Members())
		return inNetNS(n, id, 7) + ", " + readNetNS(n, id)
	}, from140("EINVAL, EINVAL", "ENODATA, 7")},
	{"netns: of a service with a NET_NS member", setNetNS, func(_ testing.TB, n NIC) string {
		id, _, err := n.Alloc(kernel.Root, Desc(Members(netNS)))
		if err != kernel.OK {
			return err.Error()
		}
		enabled := inNetNS(n, id, 7)
		_ = n.Enable(kernel.Root, id, false)
		return enabled + ", " + inNetNS(n, id, 7)
	}, from140(invalid, "EBUSY, 0")},
	{"netns: read of a service with a NET_NS member", getNetNS, func(_ testing.TB, n NIC) string {
		id, _, _ := n.Alloc(kernel.Root, Desc(Members(netNS)))
		return readNetNS(n, id)
	}, from140(invalid, "0")},
	{"netns: read of a service with a uid, then a NET_NS member", getNetNS, func(_ testing.TB, n NIC) string {
		id, _, _ := n.Alloc(kernel.Root, Desc(Members(UID(5), netNS)))
		return readNetNS(n, id)
	}, from140(invalid, "5")},
	{"netns: read where there is none", getNetNS, func(t testing.TB, n NIC) string {
		return readNetNS(n, Made(t, n))
	}, always(invalid)},
	{"netns: read of an unknown service", getNetNS, func(_ testing.TB, n NIC) string {
		return readNetNS(n, 99)
	}, always(invalid)},

	{"open: a process of the namespace", opening, func(t testing.TB, n NIC) string {
		return enter(n, bare(t, n), 7)
	}, Answers{perm, ok, perm, ok, ok, ok}}, // 13.0 lets everybody in for an ignored member
	{"open: a process of another namespace", opening, func(t testing.TB, n NIC) string {
		return enter(n, bare(t, n), 8)
	}, Answers{perm, ok, perm, perm, perm, perm}},
	{"open: a process of the first of two namespaces", opening, func(t testing.TB, n NIC) string {
		id := bare(t, n)
		_ = n.SetNetNS(kernel.Root, id, 9)
		return enter(n, id, 9)
	}, Answers{perm, ok, perm, ok, ok, ok}},
	{"open: a process of a namespace, by a NET_NS member", opening, func(t testing.TB, n NIC) string {
		id, _, err := n.Alloc(kernel.Root, Desc(Members(netNS)))
		if err == kernel.OK {
			_, err = n.AllocLNI(kernel.Caller{EUID: 7, NetNS: 7}, id)
		}
		return err.Error()
	}, from140(invalid, perm)},
}

// bare is a service without a member, disabled where the release can.
func bare(t testing.TB, n NIC) uint32 {
	id := Made(t, n, Members())
	_ = n.Enable(kernel.Root, id, false)
	return id
}

// inNetNS sets a service's namespace, and reads it.
func inNetNS(n NIC, id, netns uint32) string {
	if err := n.SetNetNS(kernel.Root, id, netns); err != kernel.OK {
		return err.Error()
	}
	return readNetNS(n, id)
}

func readNetNS(n NIC, id uint32) string {
	netns, err := n.NetNS(id)
	if err != kernel.OK {
		return err.Error()
	}
	return fmt.Sprint(netns)
}

// enter lets namespace 7 into a service, and opens an LNI from another.
func enter(n NIC, id, netns uint32) string {
	_ = n.SetNetNS(kernel.Root, id, 7)
	_ = n.Enable(kernel.Root, id, true)
	_, err := n.AllocLNI(kernel.Caller{EUID: 7, NetNS: netns}, id)
	return err.Error()
}
