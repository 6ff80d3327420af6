package sim

import (
	"context"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/refusal"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// Foreign makes a service as a tool does that knows nothing of Weft. A nil owner lets everybody in. It gives the
// service's id.
func (d *Driver) Foreign(ctx context.Context, device string, owner *uint32, vnis []core.VNI) (uint32, error) {
	if len(vnis) == 0 || len(vnis) > kernel.MaxVNIs {
		return 0, core.Errorf(core.BadCall, "NIC %s: a service with %d VNIs: a CXI service names 1 to %d", core.Clip(device), len(vnis), kernel.MaxVNIs)
	}
	desc := kernel.Desc{RestrictedVNIs: true, NumVNIs: uint8(len(vnis)), RestrictedMembers: owner != nil, TCs: [kernel.NumTCs]bool{true, true, true, true}}
	for i, v := range vnis {
		desc.VNIs[i] = uint16(v)
	}
	if owner != nil {
		desc.Members[0] = kernel.Member{ID: *owner, Type: kernel.UID}
	}
	var id uint32
	var failed *core.Error
	w := work{name: device, call: CallCreate,
		do: func(n *kernel.NIC) {
			var errno kernel.Errno
			if id, _, errno = n.Alloc(kernel.Root, &desc); errno != kernel.OK {
				failed = refusal.Error(device, "cannot create service: VNIs "+core.VNIRanges(vnis), 0, errno)
			}
		},
		fail: func(err *core.Error) { failed = err },
	}
	if err := d.run(ctx, []work{w}, true); err != nil {
		return 0, err
	}
	if failed != nil {
		return 0, failed
	}
	return id, nil
}
