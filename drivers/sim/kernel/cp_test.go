package kernel_test

import (
	"testing"

	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// TestAllocCP follows cxi_cp_alloc in cass_cpt.c of shs-cxi-driver 12.0.0 and 13.0.0, and cxi_trig_cp_alloc of 13.1.0
// and 14.0.1. They call cxi_dev_find_tx_profile in cxi_tx_profile.c: where a caller is not admitted, 13.0.0 finds no
// profile, and later releases give the error of the access entries.
func TestAllocCP(t *testing.T) {
	mine, other := kernel.Caller{EUID: 1000}, kernel.Caller{EUID: 1001}
	for _, c := range []struct {
		rule     string
		who      kernel.Caller
		vni      uint16
		class    int
		old, own kernel.Errno // of 12.0, of 13.0
		now      kernel.Errno // from 13.1 on
	}{
		{"the service's VNI", mine, 7, 1, kernel.OK, kernel.OK, kernel.OK},
		{"a class that it lacks", mine, 7, 2, kernel.EINVAL, kernel.EINVAL, kernel.EINVAL},
		{"the class of ethernet", mine, 7, 4, kernel.EINVAL, kernel.EINVAL, kernel.EINVAL},
		{"VNI 0", mine, 0, 1, kernel.EINVAL, kernel.EINVAL, kernel.EINVAL},
		{"the user's other service", mine, 8, 1, kernel.EINVAL, kernel.OK, kernel.OK},
		{"another user's", mine, 9, 1, kernel.EINVAL, kernel.ENOENT, kernel.EPERM},
		{"nobody's", mine, 11, 1, kernel.EINVAL, kernel.ENOENT, kernel.ENOENT},
		{"the default service's, disabled", mine, 1, 1, kernel.EINVAL, kernel.ENOENT, kernel.ENOENT},
		{"the caller is another", other, 7, 1, kernel.OK, kernel.ENOENT, kernel.EPERM},
	} {
		for _, b := range kernel.Behaviours() {
			n := kernel.New(b)
			tcs := func(d *kernel.Desc) { d.RestrictedTCs, d.TCs = true, [kernel.NumTCs]bool{false, true, false, true} }
			of := func(uid uint32) func(*kernel.Desc) { // an unused member lets everybody in on 13.0
				return members(kernel.Member{Type: kernel.UID, ID: uid}, kernel.Member{Type: kernel.UID})
			}
			id := must(t, &n, vnis(7), tcs, of(1000))
			must(t, &n, vnis(8), tcs, of(1000))
			must(t, &n, vnis(9), tcs, of(1001))
			lni, err := n.AllocLNI(mine, id)
			if err != kernel.OK {
				t.Fatal(err)
			}
			want := c.now
			switch b {
			case &kernel.R120:
				want = c.old
			case &kernel.R130:
				want = c.own
			}
			if got := n.AllocCP(c.who, lni, c.vni, c.class); got != want {
				t.Errorf("SHS %s, %s: %v, want %v", b.Release, c.rule, got, want)
			}
			if got := n.AllocCP(c.who, 99, c.vni, c.class); got != kernel.EINVAL {
				t.Errorf("SHS %s: an unknown LNI: %v", b.Release, got)
			}
		}
	}
}
