package cxi

import (
	"context"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/refusal"
)

// Try opens a service as the process's user; see refusal.Trial.
func (d *Driver) Try(
	ctx context.Context, device string, service uint32, vni core.VNI, classes core.Classes,
) refusal.Trial {
	start := time.Now()
	t := refusal.Trial{Device: device}
	id, named := number(device)
	lib, err := d.library(ctx)
	switch {
	case !named:
		refusal.Do(&t, refusal.StepDevice, func() errno { return enodev })
		return t
	case err != nil:
		refusal.Do(&t, refusal.StepDevice, func() errno { return errno(unix.ELIBACC) })
		return t
	}
	var n *nic
	if refusal.Do(&t, refusal.StepDevice, func() (err errno) {
		n, err = openNIC(ctx, d, lib, card{name: device, id: id})
		return err
	}) {
		n.try(&t, service, vni, classes)
		n.close()
	}
	t.Took = time.Since(start)
	return t
}

func (n *nic) try(t *refusal.Trial, service uint32, vni core.VNI, classes core.Classes) {
	var lni unsafe.Pointer
	if !refusal.Do(t, refusal.StepLNI, func() errno {
		return n.do(true, func() int32 { return n.lib.allocLNI(n.handle, &lni, service) })
	}) {
		return
	}
	defer n.lib.destroyLNI(lni)
	for class, name := range core.ClassNames() {
		if classes&(1<<class) == 0 {
			continue
		}
		var cp unsafe.Pointer
		if refusal.Do(t, name, func() errno {
			return n.do(true, func() int32 { return n.lib.allocCP(lni, uint32(vni), uint32(class), 0, &cp) })
		}) {
			n.lib.destroyCP(cp)
		}
	}
}
