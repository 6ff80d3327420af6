package sim

import (
	"context"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

var _ core.Checker = (*Driver)(nil)

// Check tells which release of the driver is simulated, and what that cannot do.
func (d *Driver) Check(ctx context.Context) ([]core.Finding, error) {
	if ctx.Err() != nil {
		return nil, ended(ctx, "simulated node: check")
	}
	b := d.options.Release
	found := []core.Finding{{Severity: core.Good, What: "the NICs are simulated, as the driver of SHS " + b.Release + " works"}}
	lacks := func(what, remedy string) {
		found = append(found, core.Finding{Severity: core.Notice, What: what, Evidence: "SHS " + b.Release, Remedy: remedy})
	}
	if b.Ops <= kernel.OpSetVNIRange {
		lacks("no VNI ranges for services", "SHS 13.1 brings them")
	}
	if b.Ops <= kernel.OpSetNetNS {
		lacks("no services for network namespaces", "SHS 14 brings them")
	}
	if b.Overlap == kernel.OverlapAllowed {
		lacks("a VNI may be in any number of services: the driver does not keep VNIs apart, only Weft's own books do", "SHS 13.0 and newer do")
	}
	if b.Overlap == kernel.OverlapRefused {
		lacks("a service that is left behind blocks its VNIs on its NIC for everybody", "`weft clean` removes those of nobody; SHS 14.0.1 allows a VNI in two services")
	}
	if b.OpenIgnore {
		lacks("an unused member of a service lets every user in, unless it is filled as Weft fills it", "services that other tools make may be open: SHS 13.1 mends it")
	}
	if b.LEPoolByMax {
		lacks("each service takes one of the 16 LE pools of a NIC, so a node holds at most 14 jobs at once", "SHS 14.0.1 takes a pool only for reserved list entries")
	}
	if !b.PoolsInFailInfo {
		lacks("the driver does not say which pool was short", "Weft tries without TLEs first; SHS 13.1 tells")
	}
	return found, nil
}
