package kerneltest

import (
	"fmt"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

const (
	privileges      = "dispatch, cxi_user_core.c"
	validation      = "validate_descriptor, cass_svc.c"
	profiles        = "alloc_rxtx_profiles, cass_svc.c"
	destroying      = "cxi_svc_destroy, cass_svc.c"
	enabledProfiles = "cxi_rx_profile_enable, cxi_rx_profile.c"
	reserving       = "reserve_rsrcs, cass_svc.c"
)

// allocs are the rules of cxil_alloc_svc and cxil_destroy_svc, in the order of the checks.
var allocs = []row{
	{"alloc: without CAP_SYS_ADMIN", privileges, func(_ testing.TB, n NIC) string {
		_, _, err := n.Alloc(owner, Desc(VNIs(0)))
		return err.Error()
	}, always(perm)},
	{"alloc: four VNIs", validation, alloc(VNIs(5, 6, 7, 8)), always(ok)},
	{"alloc: five VNIs", validation, alloc(func(d *kernel.Desc) { d.NumVNIs = 5 }), always(invalid)},
	{"alloc: VNI 0", validation, alloc(VNIs(4034, 0)), always(invalid)},
	{"alloc: restricted_vnis without a VNI", validation, alloc(VNIs()), from131(invalid, ok)},
	{"alloc: max below reserved", validation, alloc(Limit(core.EQ, 1, 2)), always(invalid)},
	{"alloc: max above the device", validation, alloc(Limit(core.TGQ, 513, 0)), always(invalid)},
	{"alloc: max of all that the device has", validation, alloc(Limit(core.TGQ, 512, 0)), always(ok)},
	{"alloc: limits without resource_limits", validation, alloc(NoLimits, Limit(core.TXQ, 1025, 2000)), always(ok)},

	{"alloc: a VNI that another service has", profiles, next([]Change{VNIs(8, 100)}, 1), within(exists)},
	{"alloc: a VNI twice", profiles, alloc(VNIs(5, 5)), within(exists)},
	{"alloc: VNI 1, the default service's", profiles, alloc(VNIs(1)), within(exists)},
	{"alloc: VNI 10, the default service's", profiles, alloc(VNIs(7, 10)), within(exists)},
	{"alloc: without restricted_vnis, a VNI that another service has", profiles,
		next([]Change{Open, VNIs(100)}, 1), Answers{ok, exists, ok, ok, ok, ok}},
	{"alloc: a VNI that a service without restricted_vnis names", profiles,
		next([]Change{VNIs(100)}, 1, Open), Answers{ok, exists, ok, ok, ok, ok}},
	{"alloc: without restricted_vnis, VNI 0 twice", profiles, alloc(Open, VNIs(0, 0)),
		Answers{ok, exists, ok, ok, ok, ok}},
	{"alloc: the VNI of a service that is destroyed", profiles, func(t testing.TB, n NIC) string {
		_ = n.Destroy(kernel.Root, Made(t, n))
		return alloc()(t, n)
	}, always(ok)},
	{"alloc: a VNI in another service's range", profiles, func(t testing.TB, n NIC) string {
		if err := n.SetVNIRange(kernel.Root, Made(t, n, Open, VNIs()), 2048, 2051); err != kernel.OK {
			return err.Error()
		}
		return alloc(VNIs(2051))(t, n)
	}, from131(invalid, exists)},
	{"alloc: a VNI that another has, and more than is unreserved", profiles,
		alloc(VNIs(1), Limit(core.TXQ, 1024, 1024)), Answers{nospace, exists, exists, exists, nospace, nospace}},

	{"alloc: reserved above what is unreserved", reserving, alloc(Limit(core.TXQ, 1024, 1024)), always(nospace)},
	{"alloc: reserved all that is unreserved", reserving, alloc(Limit(core.TXQ, 1024, 1023)), always(ok)},
	{"alloc: all TLEs, of which the default service has some", "cass_rgroup_add_resource, cass_rgroup.c",
		alloc(Limit(core.TLE, 2048, 2048)), always(nospace)},
	{"alloc: a fourth service with TLEs next to the default one", reserving,
		next([]Change{Limit(core.TLE, 8, 8)}, 3, Limit(core.TLE, 8, 8)), always(nospace)},
	{"alloc: a fifteenth service with LEs reserved", reserving,
		next([]Change{Limit(core.LE, 8, 8)}, 14, Limit(core.TXQ, 0, 0), Limit(core.LE, 8, 8)), always(nospace)},
	{"alloc: a fifteenth service with a max of LEs alone", reserving,
		next([]Change{Limit(core.LE, 8, 0)}, 14, Limit(core.TXQ, 0, 0), Limit(core.LE, 8, 0)),
		Answers{nospace, nospace, nospace, nospace, ok, ok}},

	// A NIC enables 256 profiles. On 13.0 two are the default service's, and nothing is reserved yet.
	{"alloc: the 255th VNI of a NIC", enabledProfiles, many(254), Answers{ok, "ENOSPC, 0 TXQ", ok, ok, ok, ok}},
	{"alloc: the 257th VNI of a NIC", enabledProfiles, many(256), Answers{ok, "ENOSPC, 0 TXQ",
		"ENOSPC, 1023 TXQ", "ENOSPC, 1023 TXQ", "ENOSPC, 1023 TXQ", "ENOSPC, 1023 TXQ"}},
	{"enable: the 257th VNI of a NIC", enabledProfiles, func(t testing.TB, n NIC) string {
		id := Made(t, n, VNIs(5000))
		if err := n.Enable(kernel.Root, id, false); err != kernel.OK {
			return err.Error()
		}
		many(255)(t, n)
		return n.Enable(kernel.Root, id, true).Error()
	}, from131(invalid, nospace)},

	{"destroy: without CAP_SYS_ADMIN", privileges, func(t testing.TB, n NIC) string {
		return n.Destroy(owner, Made(t, n)).Error()
	}, always(perm)},
	{"destroy: the default service", destroying, destroy(kernel.DefaultID), always(invalid)},
	{"destroy: service 0", destroying, destroy(0), always(invalid)},
	{"destroy: an unknown service", destroying, destroy(99), always(invalid)},
	{"destroy: while an LNI is open", destroying, func(t testing.TB, n NIC) string {
		id, _ := opened(t, n)
		return n.Destroy(kernel.Root, id).Error()
	}, always(busy)},
	{"destroy: once it is closed", destroying, func(t testing.TB, n NIC) string {
		id, lni := opened(t, n)
		_ = n.FreeLNI(lni)
		return n.Destroy(kernel.Root, id).Error()
	}, always(ok)},
}

func destroy(id uint32) func(testing.TB, NIC) string {
	return func(_ testing.TB, n NIC) string { return n.Destroy(kernel.Root, id).Error() }
}

// many makes services of four VNIs until they name so many, and then one with a VNI more.
func many(vnis int) func(testing.TB, NIC) string {
	return func(_ testing.TB, n NIC) string {
		for i := 0; i <= vnis; i += 4 {
			v := uint16(100 + i)
			four := []uint16{v, v + 1, v + 2, v + 3}
			_, fail, err := n.Alloc(kernel.Root, Desc(Limit(core.TXQ, 1, 0), VNIs(four[:min(vnis+1-i, 4)]...)))
			if err != kernel.OK {
				return fmt.Sprintf("%v, %d TXQ", err, fail.Avail[core.TXQ])
			}
		}
		return ok
	}
}
