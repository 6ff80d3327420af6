package conformance

import (
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev/scheduler"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
	"github.com/weft-hpc/weft/plugins/flux"
	"github.com/weft-hpc/weft/plugins/local"
	"github.com/weft-hpc/weft/plugins/pbs"
	"github.com/weft-hpc/weft/plugins/slurm"
)

// configured keeps a driver's options, as a block of config.hcl would.
type configured struct{ core.NICDriver }

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

// Their packages try them with a scheduler; here there is none.
func TestAdaptersWithoutAScheduler(t *testing.T) {
	t.Run("local", func(t *testing.T) { Test(t, func() any { return local.New("local") }, Site{}) })
	t.Run("pbs", func(t *testing.T) {
		Test(t, func() any { return pbs.New("aurora") }, Site{Values: core.Values{"exec": t.TempDir()}, Patience: 4 * time.Second})
	})
	t.Run("flux", func(t *testing.T) {
		Test(t, func() any { return flux.New("tioga") }, Site{Values: core.Values{"uri": "local://" + t.TempDir() + "/local-0"}, Patience: 4 * time.Second})
	})
	t.Run("slurm", func(t *testing.T) {
		Test(t, func() any { return slurm.New("tioga") }, Site{Values: core.Values{"bin": t.TempDir()}, Patience: 4 * time.Second})
	})
}

// TestScheduler is the half of an adapter whose scheduler is a model.
func TestScheduler(t *testing.T) {
	Test(t, func() any { return modelled(false) }, Site{Job: modelledJob(true)})
}

// modelled is a scheduler with a few jobs. Where the model is shared, one instance ends the job of all.
func modelled(lie bool) *scheduler.Adapter {
	m := scheduler.New("model", 8)
	for range 2 {
		m.Start(m.Submit(1700000000, 1000, core.Request{}), []string{"n1", "n2"})
	}
	a := scheduler.NewAdapter(m, 1)
	if lie {
		a.Lie = func() scheduler.Lie { return scheduler.Doubled }
	}
	return a
}

func modelledJob(doomed bool) *Job {
	return &Job{Doomed: doomed, Run: core.Run{
		Key:         core.Key{JobID: core.JobID{Scheduler: "model", Job: "2"}},
		Fingerprint: core.Fingerprint{UID: 1000, Submitted: 1700000000},
	}}
}
