package cxi_test

import (
	"context"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/cxi"
	"github.com/weft-hpc/weft/drivers/cxi/testdata/shim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
	"github.com/weft-hpc/weft/sdk/conformance"
)

// TestConformance: the suite that every NIC driver must pass, with each release.
func TestConformance(t *testing.T) {
	for _, b := range kernel.Behaviours() {
		t.Run(b.Release, func(t *testing.T) {
			n := shim.New(t, b, 2, shim.LibraryOf(b))
			conformance.Test(t, func() any { return cxi.New() }, conformance.Site{
				VNIs:       conformance.TestVNIs,
				Values:     core.Values{"library": n.Library(), "sysfs": n.Sys(), "processes": int64(1)},
				Expendable: true,
				Hold: func(_ context.Context, s core.Service) (func(), error) {
					nic := int(s.Device[3] - '0')
					var lni uint32
					var failed kernel.Errno
					n.Do(nic, func(k *kernel.NIC) { lni, failed = k.AllocLNI(kernel.Caller{EUID: s.Owner.ID, EGID: s.Owner.ID}, s.ID) })
					if failed != kernel.OK {
						return nil, failed
					}
					return func() { n.Do(nic, func(k *kernel.NIC) { k.FreeLNI(lni) }) }, nil
				},
			})
		})
	}
}
