package agent_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim"
)

// reloaded has its NICs' driver loaded again, when armed, once it has listed the services.
type reloaded struct {
	*sim.Driver
	armed atomic.Bool
}

func (d *reloaded) Services(ctx context.Context) ([]core.Service, error) {
	services, err := d.Driver.Services(ctx)
	if d.armed.CompareAndSwap(true, false) {
		err = d.SetFault(ctx, sim.Fault{Kind: sim.Reload})
	}
	return services, err
}

// TestReloadAmidAReading: the reading shows services that have ended, and no task gets them.
func TestReloadAmidAReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &reloaded{Driver: sim.New(sim.Options{Dir: t.TempDir(), NICs: 2, Boot: "b", NoSync: true})}
		a, _ := run(t, agent.Needs{Driver: d, Authority: &authority{orders: make(chan core.Orders)}})
		if out := a.Do(t.Context(), ask(core.Prepare, "s", "1", 7), root); out.Err != nil {
			t.Fatal(out.Err)
		}
		task := func() *core.Error {
			return a.Do(t.Context(), ask(core.Environment, "s", "1", 7), core.Peer{UID: 7}).Err
		}
		if err := task(); err != nil {
			t.Error(err)
		}
		d.armed.Store(true)
		if err := a.Reread(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if d.armed.Load() {
			t.Fatal("nothing was read")
		}
		if err := task(); err == nil || !strings.Contains(err.What, "its driver was loaded again") {
			t.Errorf("the task's error is %v", err)
		}
	})
}
