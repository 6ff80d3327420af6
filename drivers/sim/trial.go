package sim

import (
	"context"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/refusal"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// User is an application of a user on a driver's node.
type User struct {
	*Driver
	kernel.Caller
}

// Try opens a service as the user; see refusal.Trial.
func (u User) Try(
	ctx context.Context, device string, service uint32, vni core.VNI, classes core.Classes,
) refusal.Trial {
	start := time.Now()
	t := refusal.Trial{Device: device}
	w := work{name: device, call: CallOpen,
		do:   func(n *kernel.NIC) { u.try(&t, n, u.index(device), service, vni, classes) },
		fail: func(*core.Error) { refusal.Do(&t, refusal.StepDevice, func() kernel.Errno { return kernel.EIO }) },
	}
	if err := u.run(ctx, []work{w}, false); err != nil {
		w.fail(nil)
	}
	t.Took = time.Since(start)
	return t
}

func (u User) try(
	t *refusal.Trial, n *kernel.NIC, at int, service uint32, vni core.VNI, classes core.Classes,
) {
	refusal.Do(t, refusal.StepDevice, func() kernel.Errno { return kernel.OK })
	var lni uint32
	if !refusal.Do(t, refusal.StepLNI, func() (errno kernel.Errno) {
		if u.faulty(NoRGIDs, at) {
			return kernel.ENOSPC
		}
		lni, errno = n.AllocLNI(u.Caller, service)
		return errno
	}) {
		return
	}
	for class, name := range core.ClassNames() {
		if classes&(1<<class) == 0 {
			continue
		}
		refusal.Do(t, name, func() kernel.Errno {
			if u.profile(at)&(1<<class) == 0 {
				return kernel.EINVAL // cass_tc_find finds no class of the profile
			}
			return n.AllocCP(u.Caller, lni, uint16(vni), class)
		})
	}
	_ = n.FreeLNI(lni)
}
