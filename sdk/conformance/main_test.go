package conformance

import (
	"context"
	"regexp"
	"testing"

	"go.uber.org/goleak"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// simulated is a node of simulated NICs in a folder, and an application on it.
func simulated(t *testing.T) (options sim.Options, site Site) {
	t.Helper()
	options = sim.Options{Dir: t.TempDir(), NICs: 2, NoSync: true}
	return options, Site{VNIs: TestVNIs, Expendable: true, Hold: func(ctx context.Context, s core.Service) (func(), error) {
		l, err := sim.At(options.Dir).Open(ctx, s.Device, s.ID, kernel.Caller{EUID: s.Owner.ID, EGID: s.Owner.ID})
		if err != nil {
			return nil, err
		}
		return func() { _ = l.Close() }, nil
	}}
}

// verify runs the suite and gives its report by rule and case.
func verify(t *testing.T, subject Subject, site Site, only string) *Report {
	t.Helper()
	o := Options{}
	if only != "" {
		o.Only = regexp.MustCompile(only)
	}
	report, err := Run(t.Context(), subject, site, o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}
