package sim_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"testing"

	"go.uber.org/goleak"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim"
)

// The test binary is also the other process that some tests need: see helper.
const helperVariable = "WEFT_SIM_HELPER"

func TestMain(m *testing.M) {
	if what := os.Getenv(helperVariable); what != "" {
		if err := helper(what, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// helper holds an LNI of cxi0's service 4 until it is killed, or makes services, one batch after another, and removes
// the one before, saying what it knows to be done.
func helper(what string, args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if what == "hold" {
		return sim.Hold(ctx, args[0], "cxi0", 4, 1000, func() { fmt.Fprintln(os.Stdout, "opened") })
	}
	d := sim.New(sim.Options{Dir: args[0], NICs: 2, Boot: "b1"})
	var last []core.Service
	for vni := core.VNI(2000); ; vni++ {
		made, err := d.Create(ctx, []core.ServiceSpec{spec("cxi0", 1000, vni), spec("cxi1", 1000, vni)})
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stdout, "made %d\n", vni)
		if _, err := d.Destroy(ctx, last); err != nil {
			return err
		}
		fmt.Fprintf(os.Stdout, "gone %d\n", vni-1)
		last = []core.Service{made[0].Service, made[1].Service}
	}
}

func spec(device string, uid uint32, vnis ...core.VNI) core.ServiceSpec {
	s := core.ServiceSpec{Device: device, Owner: core.UID(uid), VNIs: vnis, Classes: core.LowLatency | core.BestEffort}
	s.Limits[core.TXQ] = core.Limit{Max: 16, Reserved: 8}
	return s
}

// backends are the two ways that a node's services are kept.
func backends(t *testing.T, test func(t *testing.T, o sim.Options)) {
	t.Run("memory", func(t *testing.T) { test(t, sim.Options{NICs: 2, Boot: "b1"}) })
	t.Run("folder", func(t *testing.T) { test(t, sim.Options{NICs: 2, Boot: "b1", Dir: t.TempDir(), NoSync: true}) })
}

// create makes one service and fails the test where that fails.
func create(t *testing.T, d *sim.Driver, s core.ServiceSpec) core.Service {
	t.Helper()
	made, err := d.Create(t.Context(), []core.ServiceSpec{s})
	if err == nil {
		err = made[0].Err
	}
	if err != nil {
		t.Fatal(err)
	}
	return made[0].Service
}

func destroy(t *testing.T, d *sim.Driver, s core.Service) error {
	t.Helper()
	errs, err := d.Destroy(t.Context(), []core.Service{s})
	if err != nil {
		t.Fatal(err)
	}
	return errs[0]
}

// jobs are the services that are neither the system's nor the default one.
func jobs(t *testing.T, d *sim.Driver) []core.Service {
	t.Helper()
	all, err := d.Services(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []core.Service
	for _, s := range all {
		if !s.System && !s.Default {
			out = append(out, s)
		}
	}
	return out
}
