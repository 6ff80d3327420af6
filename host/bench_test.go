package host

import (
	"context"
	"os"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim"
)

// BenchmarkDevices reads the NICs of a node: in the driver itself, behind the guard of a plugin in the daemon, and in a process of its own over go-plugin's
// socket. What a process costs a prepare is what the last takes more than the first, four times (DESIGN: budgets).
func BenchmarkDevices(b *testing.B) {
	dir, err := os.MkdirTemp("", "weft") // b.TempDir can be too long for a socket
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(dir)
	h, err := New(Options{Dir: dir, Log: newTextLog(newLogbook())})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = h.Close(context.Background()) }()
	run := func(d core.NICDriver) func(*testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got, err := d.Devices(b.Context()); err != nil || len(got) == 0 {
					b.Fatalf("%d NICs: %v", len(got), err)
				}
			}
		}
	}
	b.Run("direct", run(configured(b, sim.New(sim.Options{}))))
	for name, spec := range map[string]Spec{"daemon": {Value: sim.New(sim.Options{})}, "process": {Program: act("sim")}} {
		spec.Kind, spec.Name, spec.Block = Driver, name, values(memory)
		p, err := h.Start(b.Context(), spec)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, run(p.NIC()))
	}
}

// memory keeps simulated NICs in memory: what is measured is the way to the driver.
var memory = core.Values{"state": ""}

func configured(b *testing.B, d interface {
	core.NICDriver
	core.Configurable
}) core.NICDriver {
	b.Helper()
	v, err := values(memory)(d.Schema())
	if err == nil {
		err = d.Configure(b.Context(), v)
	}
	if err != nil {
		b.Fatal(err)
	}
	return d
}
