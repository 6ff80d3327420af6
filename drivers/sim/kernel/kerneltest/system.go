package kerneltest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

const (
	ethernet = "hw_setup, cxi_eth_ops.c"
	retrying = "main, retry_handler/main.c of shs-libcxi"
)

// system are the services that the host software makes: the default one, the network interface's, the retry handler's.
var system = []row{
	{"system: the default service", "cass_svc_init, cass_svc.c", shown(1),
		always("VNIs [1 10], restricted true, system false, enabled false, members false, 512 TLEs")},
	{"system: the ethernet service", ethernet, shown(2), from131(
		"VNIs [], restricted false, system true, enabled true, members true, 0 TLEs",
		"VNIs [], restricted true, system true, enabled true, members true, 0 TLEs")},
	{"system: the retry handler's service", retrying, shown(3), from131(
		"VNIs [], restricted false, system true, enabled true, members true, 0 TLEs",
		"VNIs [], restricted true, system true, enabled true, members true, 0 TLEs")},
	{"system: the services in use", ethernet, func(_ testing.TB, n NIC) string {
		return n.Destroy(kernel.Root, 2).Error() + ", " + n.Destroy(kernel.Root, 3).Error()
	}, always("EBUSY, EBUSY")},
	// 13.0 lets everybody in for the ignored second member.
	{"system: an LNI of the ethernet service, as a user", opening, openID(2),
		Answers{perm, ok, perm, perm, perm, perm}},
	{"system: while the network interface is down", ethernet, func(t testing.TB, n NIC) string {
		n.SetEthernet(false)
		down := ids(n)
		Made(t, n)
		n.SetEthernet(true)
		return down + "; then " + ids(n)
	}, inOrder("1 3s; then 1 3s 2 4s", "1 3s; then 1 2 3s 4s")},
}

// shown reads a service.
func shown(id uint32) func(testing.TB, NIC) string {
	return func(_ testing.TB, n NIC) string {
		s, err := n.Get(id)
		if err != kernel.OK {
			return err.Error()
		}
		return fmt.Sprintf("VNIs %d, restricted %v, system %v, enabled %v, members %v, %d TLEs", s.VNIs[:s.NumVNIs],
			s.RestrictedVNIs, s.System, s.Enable, s.RestrictedMembers, s.Limits[core.TLE].Reserved)
	}
}

// ids lists the services, s for the system's.
func ids(n NIC) string {
	var out []string
	for _, s := range n.Services() {
		out = append(out, fmt.Sprint(s.ID)+map[bool]string{true: "s"}[s.System])
	}
	return strings.Join(out, " ")
}
