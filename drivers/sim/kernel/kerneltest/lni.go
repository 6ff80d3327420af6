package kerneltest

import (
	"fmt"
	"testing"

	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

const (
	opening  = "cxi_lni_alloc, cass_lni.c; cxi_rgroup_valid_user, cxi_rgroup.c (12.0: valid_svc_user, cass_svc.c)"
	choosing = "cass_rgid_get, cass_rgid.c"
)

// lnis are the rules about users of a service.
var lnis = []row{
	{"open: the uid", opening, open(owner), always(ok)},
	{"open: another uid, the second member ignored", opening, open(stranger),
		Answers{perm, ok, perm, perm, perm, perm}},
	{"open: another uid, the second member uid 0", opening, open(stranger, Members(UID(1000), UID(0))), always(perm)},
	{"open: root has no bypass", opening, open(kernel.Root, Members(UID(1000), GID(50))), always(perm)},
	{"open: the effective gid", opening,
		open(kernel.Caller{EUID: 7, EGID: 50}, Members(GID(50), UID(0))), always(ok)},
	{"open: a uid that equals the gid", opening, open(kernel.Caller{EUID: 50}, Members(GID(50), UID(1))), always(perm)},
	{"open: a supplementary group", opening,
		open(kernel.Caller{EUID: 7, EGID: 7, Group: 50}, Members(GID(50), UID(0))),
		Answers{ok, perm, perm, perm, perm, perm}},
	{"open: anybody without restricted_members", opening, open(stranger, Everybody), always(ok)},
	{"open: an unknown service", opening, openID(99), always(invalid)},
	{"open: the default service, which is disabled", opening, openID(kernel.DefaultID), always(revoked)},
	{"open: a stranger, of a service that is disabled", opening, func(t testing.TB, n NIC) string {
		id := Made(t, n, Members(UID(1000), UID(0)))
		_ = n.Enable(kernel.Root, id, false)
		_, err := n.AllocLNI(stranger, id)
		return err.Error()
	}, from131(perm, revoked)},
	{"open: every RGID", choosing, rgids(0, func(uint32) bool { return false }), always("253 more, then ENOSPC")},
	{"open: every RGID, eight LNIs each", choosing, rgids(8, func(uint32) bool { return false }),
		always("2024 more, then ENOSPC")},
	{"open: again what was closed, but not the last", choosing, rgids(0, func(lni uint32) bool { return lni < 255 }),
		from131("0 more, then ENOSPC", "252 more, then ENOSPC")},
	{"open: a shared RGID behind one that is free", choosing, func(t testing.TB, n NIC) string {
		id := Made(t, n)
		_ = n.SetLPR(kernel.Root, id, 2)
		_, gap := opened(t, n, VNIs(7))
		_, _ = n.AllocLNI(owner, id)
		_ = n.FreeLNI(gap)
		lni, err := n.AllocLNI(owner, id)
		return err.Error() + ", closed " + n.FreeLNI(lni).Error()
	}, from131("ok, closed oops", "ok, closed ok")},
	{"open: a service just made without restricted_vnis", opening, open(owner, Open, VNIs()), from131(ok, revoked)},
}

// rgids opens LNIs of a service, lpr to an RGID, as many as there can be; closes some of them, and counts how many more
// can be opened.
func rgids(lpr uint32, close func(lni uint32) bool) func(testing.TB, NIC) string {
	return func(t testing.TB, n NIC) string {
		id := Made(t, n)
		if err := n.SetLPR(kernel.Root, id, lpr); err != kernel.OK {
			return err.Error()
		}
		opened := func() (lnis []uint32, err kernel.Errno) {
			for err == kernel.OK {
				var lni uint32
				if lni, err = n.AllocLNI(owner, id); err == kernel.OK {
					lnis = append(lnis, lni)
				}
			}
			return lnis, err
		}
		lnis, err := opened()
		closed := false
		for _, lni := range lnis {
			if close(lni) {
				closed = true
				_ = n.FreeLNI(lni)
			}
		}
		if closed {
			lnis, err = opened()
		}
		return fmt.Sprintf("%d more, then %v", len(lnis), err)
	}
}

func openID(id uint32) func(testing.TB, NIC) string {
	return func(_ testing.TB, n NIC) string {
		_, err := n.AllocLNI(owner, id)
		return err.Error()
	}
}
