package host

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/cxi"
	"github.com/weft-hpc/weft/drivers/cxi/testdata/shim"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// BenchmarkCreateDestroy makes and removes a job's services on 1, 4 and 8 NICs: by the simulated driver and by the real one, whose libcxi is the stand-in of
// its tests, as values and as processes of their own. What the stand-in takes is a socket's round trips, not an ioctl's: the real driver's rows say what
// Weft adds, and nothing about a NIC.
func BenchmarkCreateDestroy(b *testing.B) {
	for _, nics := range []int{1, 4, 8} {
		node := shim.New(b, &kernel.R1401, nics, shim.Lib10)
		blocks := map[string]core.Values{
			"sim": {"state": "", "nics": int64(nics)},
			"cxi": {"library": node.Library(), "sysfs": node.Sys(), "processes": int64(1)},
		}
		drivers := map[string]interface {
			core.NICDriver
			core.Configurable
		}{"sim": sim.New(sim.Options{}), "cxi": cxi.New()}
		for _, of := range []string{"sim", "cxi"} {
			d := drivers[of]
			block, err := values(blocks[of])(d.Schema())
			if err == nil {
				err = d.Configure(b.Context(), block)
			}
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("driver=%s/as=value/nics=%d", of, nics), func(b *testing.B) { createDestroy(b, d, nics) })
			dir, err := os.MkdirTemp("", "weft")
			if err != nil {
				b.Fatal(err)
			}
			h, err := New(Options{Dir: dir, Log: newTextLog(newLogbook())})
			if err != nil {
				b.Fatal(err)
			}
			p, err := h.Start(b.Context(), Spec{Kind: Driver, Name: of, Program: act(of), Block: values(blocks[of])})
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("driver=%s/as=process/nics=%d", of, nics), func(b *testing.B) { createDestroy(b, p.NIC(), nics) })
			if err := h.Close(context.Background()); err != nil {
				b.Error(err)
			}
			os.RemoveAll(dir)
		}
	}
	shim.Clean()
}

func createDestroy(b *testing.B, d core.NICDriver, nics int) {
	b.ReportAllocs()
	for b.Loop() {
		job(b, d, nics)
	}
}

// job makes and removes a job's services.
func job(b *testing.B, d core.NICDriver, nics int) {
	b.Helper()
	specs, services := make([]core.ServiceSpec, nics), make([]core.Service, nics)
	for i := range specs {
		specs[i] = core.ServiceSpec{Device: fmt.Sprintf("cxi%d", i), Owner: core.UID(1000), VNIs: []core.VNI{4034}, Classes: core.LowLatency}
		specs[i].Limits[core.TXQ] = core.Limit{Max: 16, Reserved: 8}
	}
	made, err := d.Create(b.Context(), specs)
	if err != nil {
		b.Fatal(err)
	}
	for i := range made {
		if made[i].Err != nil {
			b.Fatal(made[i].Err)
		}
		services[i] = made[i].Service
	}
	errs, err := d.Destroy(b.Context(), services)
	if err != nil {
		b.Fatal(err)
	}
	for _, err := range errs {
		if err != nil {
			b.Fatal(err)
		}
	}
}
