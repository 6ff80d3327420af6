package rpc

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"

	"github.com/weft-hpc/weft/core"
)

// BenchmarkCreate makes the services of a job on a node with 4 NICs, in a driver that takes no time. A prepare on such a node calls a driver four times
// within its 3 ms (DESIGN: budgets).
func BenchmarkCreate(b *testing.B) {
	var specs []core.ServiceSpec
	var made []core.Created
	for _, device := range []string{"cxi0", "cxi1", "cxi2", "cxi3"} {
		s := core.ServiceSpec{Device: device, Owner: core.UID(1000), VNIs: []core.VNI{4034, 4035}, Classes: core.BestEffort | core.LowLatency}
		for r := range s.Limits {
			s.Limits[r] = core.Limit{Max: 1024, Reserved: 64}
		}
		specs = append(specs, s)
		made = append(made, core.Created{Service: core.Service{
			Device: device, ID: 7, Owner: s.Owner, VNIs: s.VNIs, Classes: s.Classes, Limits: s.Limits, Enabled: true,
		}})
	}
	driver := &fakeNIC{create: func(context.Context, []core.ServiceSpec) ([]core.Created, error) { return made, nil }}
	run := func(c core.NICDriver) func(*testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got, err := c.Create(b.Context(), specs); err != nil || len(got) != len(specs) {
					b.Fatal(err)
				}
			}
		}
	}
	b.Run("direct", run(driver))
	b.Run("bufconn", run(wireNIC(b, driver)))
	l, err := net.Listen("unix", filepath.Join(b.TempDir(), "s"))
	if err != nil {
		b.Fatal(err)
	}
	conn := serve(b, l, func(ctx context.Context, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", l.Addr().String())
	}, func(s *grpc.Server) { ServeNIC(s, driver) })
	b.Run("unix", run(NewNIC(conn)))
}
