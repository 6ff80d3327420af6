package cxi_test

import (
	"context"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/cxi"
	"github.com/weft-hpc/weft/drivers/cxi/testdata/shim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

var noContext = context.Background()

func TestMain(m *testing.M) {
	code := m.Run()
	shim.Clean()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			os.Stderr.WriteString("a test left a goroutine behind: " + err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}

// on is the real driver, through purego and the stand-in for libcxi, on a node of a release.
func on(t testing.TB, b *kernel.Behaviour, nics, libcxi int) (*cxi.Driver, *shim.Node) {
	t.Helper()
	n := shim.New(t, b, nics, libcxi)
	return driver(t, n), n
}

func driver(t testing.TB, n *shim.Node) *cxi.Driver {
	t.Helper()
	d := cxi.New()
	if err := d.Configure(t.Context(), core.Values{"library": n.Library(), "sysfs": n.Sys(), "processes": int64(1)}); err != nil {
		t.Fatal(err)
	}
	return d
}

func spec(device string, uid uint32, vnis ...core.VNI) core.ServiceSpec {
	s := core.ServiceSpec{Device: device, Owner: core.UID(uid), VNIs: vnis, Classes: core.LowLatency | core.BestEffort}
	s.Limits[core.TXQ] = core.Limit{Max: 16, Reserved: 8}
	return s
}

// create makes one service.
func create(t testing.TB, d core.NICDriver, s core.ServiceSpec) (core.Service, error) {
	t.Helper()
	made, err := d.Create(t.Context(), []core.ServiceSpec{s})
	if err != nil {
		t.Fatal(err)
	}
	return made[0].Service, made[0].Err
}

func must(t testing.TB, d core.NICDriver, s core.ServiceSpec) core.Service {
	t.Helper()
	made, err := create(t, d, s)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func destroy(t testing.TB, d core.NICDriver, s core.Service) error {
	t.Helper()
	errs, err := d.Destroy(t.Context(), []core.Service{s})
	if err != nil {
		t.Fatal(err)
	}
	return errs[0]
}
