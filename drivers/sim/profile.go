package sim

import (
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// profile is the classes of a NIC's active QoS profile.
func (d *Driver) profile(device int) core.Classes {
	if d.faulty(Profile, device) {
		return core.BestEffort
	}
	return core.AllClasses
}

// rgids are a NIC's resource group ids.
func (d *Driver) rgids(n *kernel.NIC, device int) core.Stock {
	s := core.Stock{Total: kernel.RGIDs, Free: n.FreeRGIDs()}
	if d.faulty(NoRGIDs, device) {
		s.Free = 0
	}
	return s
}
