package kerneltest

import (
	"fmt"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

const counting = "copy_rsrc_use, cass_svc.c"

// uses are the rules about objects that applications allocate, and about the driver's count of them.
var uses = []row{
	{"use: up to max, which another service has reserved", "cass_alloc_resource, cass_rgroup.c",
		func(t testing.TB, n NIC) string {
			_, lni := opened(t, n, Limit(core.TXQ, 1000, 0))
			Made(t, n, VNIs(7), Limit(core.TXQ, 1000, 1000))
			return n.Use(lni, core.TXQ, 1000).Error()
		}, always(ok)},
	{"use: an object with max 0", "cxi_rgroup_alloc_resource, cxi_rgroup.c", func(t testing.TB, n NIC) string {
		_, lni := opened(t, n)
		return n.Use(lni, core.EQ, 1).Error()
	}, always(badr)},
	{"use: above max", "cass_alloc_resource, cass_rgroup.c", func(t testing.TB, n NIC) string {
		_, lni := opened(t, n)
		return n.Use(lni, core.TXQ, 17).Error()
	}, always(nospace)},
	{"in use: TXQs", counting, func(t testing.TB, n NIC) string {
		id, lni := opened(t, n)
		_ = n.Use(lni, core.TXQ, 5)
		return fmt.Sprint(n.InUse(id)[core.TXQ])
	}, always("5")},
	{"in use: TLEs", counting, func(t testing.TB, n NIC) string {
		id, lni := opened(t, n, Limit(core.TLE, 8, 8))
		_ = n.Use(lni, core.TLE, 5)
		return fmt.Sprint(n.InUse(id)[core.TLE])
	}, always("5")},
	{"in use: LEs of a service that has none reserved", counting, func(t testing.TB, n NIC) string {
		return fmt.Sprint(n.InUse(Made(t, n, Limit(core.LE, 8, 0)))[core.LE])
	}, Answers{"0", "0", "0", "0", "0", "65535"}},
	{"in use: LEs of a service that has some reserved", counting, func(t testing.TB, n NIC) string {
		return fmt.Sprint(n.InUse(Made(t, n, Limit(core.LE, 8, 8)))[core.LE])
	}, always("0")},
	{"in use: TLEs of a service without, while the default service uses some", counting, func(t testing.TB, n NIC) string {
		if err := n.Enable(kernel.Root, kernel.DefaultID, true); err != kernel.OK {
			return err.Error()
		}
		lni, _ := n.AllocLNI(owner, kernel.DefaultID)
		_ = n.Use(lni, core.TLE, 5)
		return fmt.Sprint(n.InUse(Made(t, n))[core.TLE])
	}, Answers{invalid, invalid, "0", "0", "5", "65535"}},
}
