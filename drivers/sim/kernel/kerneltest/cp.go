package kerneltest

import (
	"testing"

	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

const profiling = "cxi_cp_alloc, cass_cpt.c; cxi_dev_get_tx_profile, cxi_tx_profile.c (12.0: cass_svc.c)"

// sends are the rules of communication profiles: who may send with a VNI in a class. A caller who is not admitted finds
// no profile on 13.0. Later releases give the error of the access entries.
var sends = []row{
	{"cp: the service's VNI", profiling, send(owner, 7, 1), always(ok)},
	{"cp: a class that the service lacks", profiling, send(owner, 7, 2), always(invalid)},
	{"cp: the class of ethernet", profiling, send(owner, 7, 4), always(invalid)},
	{"cp: VNI 0", profiling, send(owner, 0, 1), always(invalid)},
	{"cp: a VNI of the user's other service", profiling, send(owner, 8, 1), from130(invalid, ok)},
	{"cp: a VNI of another user's service", profiling, send(owner, 9, 1),
		Answers{invalid, noent, perm, perm, perm, perm}},
	{"cp: nobody's VNI", profiling, send(owner, 11, 1), from130(invalid, noent)},
	{"cp: the default service's VNI", profiling, send(owner, 1, 1), Answers{invalid, ok, noent, noent, noent, noent}},
	{"cp: a VNI named without restricted_vnis", profiling, send(owner, 12, 1),
		Answers{invalid, ok, noent, noent, noent, noent}},
	{"cp: a VNI of a range", profiling, send(owner, 66, 1), Answers{invalid, noent, ok, ok, ok, ok}},
	{"cp: another user, in the owner's LNI", profiling, send(stranger, 7, 1), Answers{ok, noent, perm, perm, perm, perm}},
	{"cp: root, nobody's VNI", profiling, send(kernel.Root, 11, 1), from130(invalid, ok)},
	{"cp: root, a VNI of another user's service", profiling, send(kernel.Root, 9, 1),
		Answers{invalid, exists, perm, perm, perm, perm}},
	{"cp: of an unknown LNI", profiling, func(_ testing.TB, n NIC) string {
		return n.AllocCP(owner, 99, 7, 1).Error()
	}, always(invalid)},
	{"cp: any VNI, in a service without restricted_vnis", profiling, func(t testing.TB, n NIC) string {
		id := Made(t, n, Open, VNIs())
		lni, err := n.AllocLNI(owner, id)
		if err != kernel.OK {
			return err.Error()
		}
		return n.AllocCP(owner, lni, 77, 1).Error()
	}, Answers{ok, noent, revoked, revoked, revoked, revoked}},
}

// send asks for a profile in an LNI of a service with VNI 7, on a NIC with services of several kinds.
func send(c kernel.Caller, vni uint16, class int) func(testing.TB, NIC) string {
	mine, other := Members(UID(1000), UID(0)), Members(UID(1001), UID(1002))
	return func(t testing.TB, n NIC) string {
		id := Made(t, n, VNIs(7), mine)
		Made(t, n, VNIs(8), mine)
		Made(t, n, VNIs(9), other)
		Made(t, n, VNIs(12), Open, mine)
		ranged := Made(t, n, VNIs(), Open, mine)
		_, _ = n.SetVNIRange(kernel.Root, ranged, 64, 127), n.Enable(kernel.Root, ranged, true)
		lni, err := n.AllocLNI(owner, id)
		if err != kernel.OK {
			t.Fatal(err)
		}
		return n.AllocCP(c, lni, vni, class).Error()
	}
}
