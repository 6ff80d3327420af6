package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook/rundir"
)

// ill is a driver whose NICs show what change makes of them, or that makes no service.
type ill struct {
	core.NICDriver
	change func(*core.Device)
	create error
}

func (d ill) Devices(ctx context.Context) ([]core.Device, error) {
	all, err := d.NICDriver.Devices(ctx)
	for i := range all {
		if d.change != nil && all[i].Name == "cxi1" {
			d.change(&all[i])
		}
	}
	return all, err
}

func (d ill) Create(ctx context.Context, specs []core.ServiceSpec) ([]core.Created, error) {
	if d.create != nil {
		return nil, d.create
	}
	return d.NICDriver.Create(ctx, specs)
}

// TestFindings breaks one thing of a good node each, and wants the one finding of it.
func TestFindings(t *testing.T) {
	shows := func(change func(*core.Device)) func(*testing.T, *rig) {
		return func(_ *testing.T, r *rig) { r.driver.NICDriver = ill{NICDriver: r.driver.NICDriver, change: change} }
	}
	bypass := func(text string) func(*testing.T, *rig) {
		return func(t *testing.T, r *rig) {
			t.Helper()
			if text == "" {
				if err := r.rundir.WriteBypass(time.Now().Add(time.Hour), time.Now()); err != nil {
					t.Fatal(err)
				}
			} else if err := os.WriteFile(filepath.Join(string(r.rundir), "bypass"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		spoil    func(*testing.T, *rig)
		severity string // empty: no finding
		what     string
		evidence string
		mend     string
	}{
		"nothing": {func(*testing.T, *rig) {}, "", "", "", ""},
		"no LE pool, and each service takes one": {
			shows(func(d *core.Device) {
				d.Capacity[core.LE] = core.Supply{Total: 100, Free: 100, Pooled: true, PooledByMax: true}
			}), "warning", "NIC cxi1 can take no further job", "no LE pool is left", "`weft services --all`",
		},
		"no LE pool, and only a reservation takes one": {
			shows(func(d *core.Device) { d.Capacity[core.LE] = core.Supply{Total: 100, Free: 100, Pooled: true} }), "", "", "", "",
		},
		"one LE pool": {
			shows(func(d *core.Device) {
				d.Capacity[core.LE] = core.Supply{Total: 100, Free: 100, Pooled: true, PooledByMax: true, PoolsLeft: 1}
			}), "", "", "", "",
		},
		"no TLE pool": {
			shows(func(d *core.Device) { d.Capacity[core.TLE].PoolsLeft = 0 }), "notice", "NIC cxi1: the next job gets no triggered operations", "no TLE pool is left", "waits for another to end",
		},
		"a NIC that fails": {shows(func(d *core.Device) { d.Fault = "ENXIO" }), "critical", "NIC cxi1 cannot be used", "ENXIO", "a reboot"},
		"bypassed":         {bypass(""), "critical", "Weft is bypassed on this node", "until 2000-01-01T01:00:00Z", "`weft agent bypass --end`"},
		"a bypass that is not obeyed": {
			bypass("tomorrow\n"), "warning", "the file of a bypass is not obeyed", "it holds no time", "`weft agent bypass --end`",
		},
		"no session with the server": {
			func(_ *testing.T, r *rig) {
				r.server.mu.Lock()
				r.server.down = true
				r.server.mu.Unlock()
				r.server.cut <- core.Errorf(core.ServerAway, "server: its connection ended")
				synctest.Wait()
			}, "warning", "the agent has no session with the server", "no connection stands", "`weft status`",
		},
		"a fault of the node's own": {
			func(t *testing.T, r *rig) {
				t.Helper()
				good := r.driver.NICDriver
				r.driver.NICDriver = ill{NICDriver: good, create: core.Errorf(core.NICFailed, "NIC cxi1: create: EIO")}
				if out := r.Do(t.Context(), ask(core.Prepare, "slurm", "1", 1000), root); out.Err == nil || out.Err.Reason != core.NICFailed {
					t.Fatalf("%+v", out)
				}
				r.driver.NICDriver = good
			}, "warning", "this node was taken out of service", "NIC cxi1: create: EIO", "`weft resume NODE`",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t)
				r.stop()
				r.rundir = rundir.Dir(filepath.Join(r.dir, "run"))
				if err := os.Mkdir(string(r.rundir), 0o700); err != nil {
					t.Fatal(err)
				}
				r.server.cut = make(chan error)
				r.begin(t)
				defer func() { r.stop() }()
				c.spoil(t, r)
				var found []agent.FindingRow
				for _, f := range r.Doctor(t.Context(), pools, 0) {
					if f.Severity != "good" {
						found = append(found, f)
					}
				}
				switch {
				case c.severity == "" && len(found) > 0:
					t.Errorf("a good node has %+v", found)
				case c.severity == "":
				case len(found) != 1:
					t.Errorf("want one finding, got %+v", found)
				case found[0].Severity != c.severity || !strings.HasPrefix(found[0].What, c.what) || !strings.Contains(found[0].Evidence, c.evidence) || !strings.Contains(found[0].Mend, c.mend):
					t.Errorf("got %+v", found[0])
				}
			})
		})
	}
}
