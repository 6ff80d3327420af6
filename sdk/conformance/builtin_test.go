package conformance

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon/plugin"
	"github.com/weft-hpc/weft/dev/schedulertest"
	"github.com/weft-hpc/weft/drivers/cxi"
	"github.com/weft-hpc/weft/drivers/cxi/testdata/shim"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
	"github.com/weft-hpc/weft/host"
	"github.com/weft-hpc/weft/plugins/flux"
	"github.com/weft-hpc/weft/plugins/local"
	"github.com/weft-hpc/weft/plugins/pbs"
	"github.com/weft-hpc/weft/plugins/slurm"
)

// configured keeps a driver's options, as a block of config.hcl would.
type configured struct{ core.NICDriver }

// verified are the built-in plugins, and the run of the suite that verifies each. Adapters have no scheduler here; with one, the tests named
// TestConformance of their own packages verify them; so is cxi there, with every release.
var verified = map[host.Kind]map[string]func(*testing.T){
	host.Driver: {
		"cxi": verifyCXI,
		"sim": func(t *testing.T) {
			options, site := simulated(t)
			Test(t, func() any { return configured{sim.New(options)} }, site)
		},
	},
	host.Scheduler: {
		"flux":  alone(func() any { return flux.New("tioga") }, func(t *testing.T) core.Values { return core.Values{"uri": "local://" + t.TempDir() + "/local-0"} }),
		"local": alone(func() any { return local.New("local") }, func(*testing.T) core.Values { return nil }),
		"pbs":   alone(func() any { return pbs.New("aurora") }, func(t *testing.T) core.Values { return core.Values{"exec": t.TempDir()} }),
		"slurm": alone(func() any { return slurm.New("tioga") }, func(t *testing.T) core.Values { return core.Values{"bin": t.TempDir()} }),
	},
}

// TestBuiltins: every plugin that is part of weft is verified, also the next one.
func TestBuiltins(t *testing.T) {
	all := plugin.Builtins()
	for kind, types := range all {
		for _, typ := range types {
			t.Run(string(kind)+"/"+typ, func(t *testing.T) {
				run := verified[kind][typ]
				if run == nil {
					t.Fatal("no run of the suite verifies it: add it to verified")
				}
				run(t)
			})
		}
	}
	for kind, runs := range verified {
		for typ := range runs {
			if !slices.Contains(all[kind], typ) {
				t.Errorf("%s %q is verified as built in, and is not", kind, typ)
			}
		}
	}
}

// alone is an adapter's run with its block, and without a scheduler.
func alone(open func() any, values func(*testing.T) core.Values) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		Test(t, open, Site{Values: values(t), Patience: 4 * time.Second})
	}
}

// verifyCXI runs the driver through a stand-in for its library, which gcc builds: without one it is skipped, and says so.
func verifyCXI(t *testing.T) {
	release := &kernel.R1401
	n := shim.New(t, release, 2, shim.LibraryOf(release))
	Test(t, func() any { return cxi.New() }, Site{
		VNIs: TestVNIs, Values: core.Values{"library": n.Library(), "sysfs": n.Sys(), "processes": int64(1)}, Expendable: true,
	})
}

// TestSim is the driver as each release's kernel.
func TestSim(t *testing.T) {
	for _, release := range kernel.Behaviours() {
		t.Run(release.Release, func(t *testing.T) {
			options, site := simulated(t)
			options.Release = release
			Test(t, func() any { return configured{sim.New(options)} }, site)
		})
	}
}

// TestSimByItsBlock is the driver as config.hcl sets it up.
func TestSimByItsBlock(t *testing.T) {
	options, site := simulated(t)
	site.Values = core.Values{"state": options.Dir, "sync": false, "nics": int64(2)}
	Test(t, func() any { return sim.New(sim.Options{}) }, site)
}

func TestSimInMemory(t *testing.T) {
	Test(t, func() any { return sim.New(sim.Options{}) }, Site{VNIs: TestVNIs, InMemory: true})
}

// TestScheduler is the half of an adapter whose scheduler is a model.
func TestScheduler(t *testing.T) {
	Test(t, func() any { return modelled() }, Site{Job: modelledJob(true)})
}

// modelled is a scheduler with a few jobs. Where the model is shared, one instance ends the job of all.
func modelled() *modelAdapter {
	m := schedulertest.New("model", 8)
	for range 2 {
		m.Start(m.Submit(1700000000, 1000, core.Request{}), []string{"n1", "n2"})
	}
	return newModelAdapter(m)
}

func modelledJob(doomed bool) *Job {
	return &Job{Doomed: doomed, Run: core.Run{
		Key:         core.Key{JobID: core.JobID{Scheduler: "model", Job: "2"}},
		Fingerprint: core.Fingerprint{UID: 1000, Submitted: 1700000000},
	}}
}
