package kerneltest

import (
	"fmt"
	"testing"

	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

const (
	enabling    = "cxi_svc_enable, cass_svc.c"
	sharing     = "cxi_svc_set_lpr, cass_svc.c"
	ranging     = "cxi_svc_set_vni_range, cass_svc.c"
	reading     = "cxi_svc_get_vni_range, cass_svc.c"
	exclusivity = "cxi_svc_get_exclusive_cp, cass_svc.c"
)

// settings are the rules of calls that change or read one thing of a service.
var settings = []row{
	{"enable: off", enabling, func(t testing.TB, n NIC) string {
		return n.Enable(kernel.Root, Made(t, n), false).Error()
	}, from131(invalid, ok)},
	{"enable: an unknown service", enabling, func(_ testing.TB, n NIC) string {
		return n.Enable(kernel.Root, 99, true).Error()
	}, always(invalid)},
	{"enable: the default service", enabling, func(_ testing.TB, n NIC) string {
		return n.Enable(kernel.Root, kernel.DefaultID, true).Error()
	}, from131(invalid, ok)},
	{"enable: without CAP_SYS_ADMIN", privileges, func(t testing.TB, n NIC) string {
		return n.Enable(owner, Made(t, n), true).Error()
	}, from131(invalid, perm)},
	{"enable: without restricted_vnis and VNIs", enabling, func(t testing.TB, n NIC) string {
		return n.Enable(kernel.Root, Made(t, n, Open, VNIs()), true).Error()
	}, from131(invalid, ok)},
	{"enable: VNIs named without restricted_vnis", enabling, func(t testing.TB, n NIC) string {
		id := Made(t, n, Open)
		err := n.Enable(kernel.Root, id, true)
		s, _ := n.Get(id)
		return fmt.Sprintf("%v, %v", err, s.Enable)
	}, from131("EINVAL, true", "EINVAL, false")},
	{"enable: after a range that was refused", enabling, func(t testing.TB, n NIC) string {
		id := Made(t, n, Open, VNIs())
		_ = n.SetVNIRange(kernel.Root, id, 8, 15)
		return n.Enable(kernel.Root, id, true).Error()
	}, always(invalid)},
	{"enable: twice", enabling, func(t testing.TB, n NIC) string {
		return n.Enable(kernel.Root, Made(t, n), true).Error()
	}, from131(invalid, ok)},
	{"enable: in use", enabling, func(t testing.TB, n NIC) string {
		id, _ := opened(t, n)
		return n.Enable(kernel.Root, id, false).Error()
	}, from131(invalid, busy)},

	{"lpr: 8", sharing, lpr(8), always("8")},
	{"lpr: 0", sharing, lpr(0), always("0")},
	{"lpr: 9", sharing, lpr(9), always(invalid)},
	{"lpr: without CAP_SYS_ADMIN", privileges, func(t testing.TB, n NIC) string {
		return n.SetLPR(owner, Made(t, n), 8).Error()
	}, always(perm)},
	{"lpr: in use", sharing, func(t testing.TB, n NIC) string {
		id, _ := opened(t, n)
		return n.SetLPR(kernel.Root, id, 8).Error()
	}, always(busy)},
	{"lpr: of an unknown service", sharing, func(_ testing.TB, n NIC) string {
		return n.SetLPR(kernel.Root, 99, 2).Error()
	}, always(invalid)},
	{"lpr: read of an unknown service", "cxi_svc_get_lpr, cass_svc.c", readLPR(99), always(invalid)},
	{"lpr: of the default service", "cxi_svc_get_lpr, cass_svc.c", readLPR(kernel.DefaultID), always("1")},

	{"range: a power of two, aligned", ranging, ranged(2048, 2055), from131(invalid, "2048-2055")},
	{"range: from VNI 0", ranging, ranged(0, 7), always(invalid)},
	{"range: the wrong way round", ranging, ranged(2055, 2048), always(invalid)},
	{"range: no power of two", ranging, ranged(2048, 2050), always(invalid)},
	{"range: not aligned", ranging, ranged(2044, 2051), always(invalid)},
	{"range: of a service with restricted_vnis", ranging, func(t testing.TB, n NIC) string {
		return n.SetVNIRange(kernel.Root, Made(t, n), 2048, 2055).Error()
	}, always(invalid)},
	{"range: without CAP_SYS_ADMIN", privileges, func(t testing.TB, n NIC) string {
		return n.SetVNIRange(owner, Made(t, n, Open, VNIs()), 2048, 2055).Error()
	}, from131(invalid, perm)},
	{"range: over the default service's VNI 10", ranging, ranged(8, 15), from131(invalid, exists)},
	{"range: over another service's range", ranging, func(t testing.TB, n NIC) string {
		_ = n.SetVNIRange(kernel.Root, Made(t, n, Open, VNIs()), 2048, 2051)
		return n.SetVNIRange(kernel.Root, Made(t, n, Open, VNIs()), 2050, 2051).Error()
	}, from131(invalid, exists)},
	{"range: one VNI, which another service names", ranging, func(t testing.TB, n NIC) string {
		Made(t, n)
		return ranged(4034, 4034)(t, n)
	}, Answers{invalid, invalid, exists, exists, "4034-4034", "4034-4034"}},
	{"range: a second one", ranging, twice(2048, 2055, 4096, 4103), from131(invalid, "4096-4103")},
	{"range: a second one, over the first", ranging, twice(2048, 2055, 2048, 2051), from131(invalid, "EEXIST, ENOENT")},
	{"range: one VNI twice", ranging, twice(2048, 2048, 2048, 2048),
		Answers{invalid, invalid, "EEXIST, ENOENT", "EEXIST, ENOENT", "2048-2048", "2048-2048"}},
	{"range: the first of two keeps its VNIs, also once its service is gone", ranging, func(t testing.TB, n NIC) string {
		id := Made(t, n, Open, VNIs())
		_ = n.SetVNIRange(kernel.Root, id, 2048, 2055)
		_ = n.SetVNIRange(kernel.Root, id, 4096, 4103)
		_ = n.Destroy(kernel.Root, id)
		return alloc(VNIs(4096))(t, n) + ", " + alloc(VNIs(2055))(t, n)
	}, from131("ok, ok", "ok, EEXIST")},
	{"range: refused, then read", reading, func(t testing.TB, n NIC) string {
		id := Made(t, n, Open, VNIs())
		_ = n.SetVNIRange(kernel.Root, id, 8, 15)
		s, _ := n.Get(id)
		return fmt.Sprintf("%s, %d VNIs", readRange(n, id), s.NumVNIs)
	}, from131("EINVAL, 0 VNIs", "ENOENT, 1 VNIs")},
	{"range: read where VNIs are named", reading, func(t testing.TB, n NIC) string {
		return readRange(n, Made(t, n, Open))
	}, from131(invalid, noent)},
	{"range: it does not enable", ranging, func(t testing.TB, n NIC) string {
		id := Made(t, n, Open, VNIs())
		_ = n.SetVNIRange(kernel.Root, id, 2048, 2055)
		_, err := n.AllocLNI(owner, id)
		return err.Error()
	}, from131(ok, revoked)},
	{"range: read of a service with restricted_vnis", reading, func(t testing.TB, n NIC) string {
		return readRange(n, Made(t, n))
	}, always(invalid)},
	{"range: read where there is none", reading, func(t testing.TB, n NIC) string {
		return readRange(n, Made(t, n, Open, VNIs()))
	}, always(invalid)},

	{"exclusive_cp: of the default service", exclusivity, exclusive(), from131(invalid, "false")},
	{"exclusive_cp: of a service without VNIs", exclusivity, exclusive(Open, VNIs()), from131(invalid, noent)},
}

// withoutSharing are rules of drivers that were loaded with enable_rgid_sharing=0.
var withoutSharing = []row{
	{"lpr: 8, without sharing", sharing, lpr(8), from131("8", "1")},
	{"lpr: 9, without sharing", sharing, lpr(9), always(invalid)},
	{"lpr: of an unknown service, without sharing", sharing, func(_ testing.TB, n NIC) string {
		return n.SetLPR(kernel.Root, 99, 2).Error()
	}, from131(invalid, ok)},
}

// lpr sets how many LNIs of a service share an RGID, and reads it.
func lpr(lnis uint32) func(testing.TB, NIC) string {
	return func(t testing.TB, n NIC) string {
		id := Made(t, n)
		if err := n.SetLPR(kernel.Root, id, lnis); err != kernel.OK {
			return err.Error()
		}
		return readLPR(id)(t, n)
	}
}

func readLPR(id uint32) func(testing.TB, NIC) string {
	return func(_ testing.TB, n NIC) string {
		lnis, err := n.LPR(id)
		if err != kernel.OK {
			return err.Error()
		}
		return fmt.Sprint(lnis)
	}
}

// ranged sets a range of a service, and reads it.
func ranged(from, to uint32) func(testing.TB, NIC) string {
	return func(t testing.TB, n NIC) string {
		id := Made(t, n, Open, VNIs())
		if err := n.SetVNIRange(kernel.Root, id, from, to); err != kernel.OK {
			return err.Error()
		}
		return readRange(n, id)
	}
}

// twice sets a range and another, and reads what stands.
func twice(from, to, from2, to2 uint32) func(testing.TB, NIC) string {
	return func(t testing.TB, n NIC) string {
		id := Made(t, n, Open, VNIs())
		_ = n.SetVNIRange(kernel.Root, id, from, to)
		switch err := n.SetVNIRange(kernel.Root, id, from2, to2); err {
		case kernel.OK:
			return readRange(n, id)
		case kernel.EINVAL:
			return invalid
		default:
			return err.Error() + ", " + readRange(n, id)
		}
	}
}

func readRange(n NIC, id uint32) string {
	from, to, err := n.VNIRange(id)
	if err != kernel.OK {
		return err.Error()
	}
	return fmt.Sprintf("%d-%d", from, to)
}

// exclusive reads exclusive_cp of a service made of changes, or of the default one.
func exclusive(changes ...Change) func(testing.TB, NIC) string {
	return func(t testing.TB, n NIC) string {
		id := uint32(kernel.DefaultID)
		if len(changes) > 0 {
			id = Made(t, n, changes...)
		}
		is, err := n.ExclusiveCP(id)
		if err != kernel.OK {
			return err.Error()
		}
		return fmt.Sprint(is)
	}
}
