package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/hook/rundir"
)

// ill is a driver whose NICs show what change makes of them, or that makes no service.
type ill struct {
	core.NICDriver
	change func(*core.Device)
	all    bool // not cxi1 alone
	create error
	read   error
	off    string // the NIC whose services are disabled
}

func (d ill) Devices(ctx context.Context) ([]core.Device, error) {
	if d.read != nil && d.change == nil {
		return nil, d.read
	}
	all, err := d.NICDriver.Devices(ctx)
	for i := range all {
		if d.change != nil && (d.all || all[i].Name == "cxi1") {
			d.change(&all[i])
		}
	}
	return all, err
}

func (d ill) Services(ctx context.Context) ([]core.Service, error) {
	if d.read != nil {
		return nil, d.read
	}
	all, err := d.NICDriver.Services(ctx)
	for i := range all {
		all[i].Enabled = all[i].Enabled && all[i].Device != d.off
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
	fails := func(t *testing.T, r *rig) {
		t.Helper()
		good := r.driver.NICDriver
		r.driver.NICDriver = ill{NICDriver: good, create: core.Errorf(core.NICFailed, "NIC cxi1: create: EIO")}
		if out := r.Do(t.Context(), ask(core.Prepare, "slurm", "1", 1000), root); out.Err == nil || out.Err.Reason != core.NICFailed {
			t.Fatalf("%+v", out)
		}
		synctest.Wait() // the node is read anew for its fault
		r.driver.NICDriver = good
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
			}), "warning", "NIC cxi1 can take no further job", "no LE pool is left", "`weft services`",
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
		"a NIC without a link": {
			shows(func(d *core.Device) { d.Up, d.Network = false, "hsn1" }),
			"critical", "NIC cxi1 has no link", "network device is not up", "`ip link set hsn1 up`",
		},
		"a NIC without a retry handler": {
			shows(func(d *core.Device) { d.Retry = false }), "critical", "NIC cxi1 has no retry handler running", "no event queue",
			"`systemctl status cxi_rh@cxi1` says why: where it has not run since boot, start it; where it crashed, drain the node and reboot it",
		},
		"a job's service that is disabled": {
			func(t *testing.T, r *rig) {
				t.Helper()
				if out := r.Do(t.Context(), ask(core.Prepare, "slurm", "1", 1000), root); out.Err != nil {
					t.Fatal(out.Err)
				}
				r.driver.NICDriver = ill{NICDriver: r.driver.NICDriver, off: "cxi0"}
			}, "warning", "a running job's service is disabled", "NIC cxi0: service", "`cxi_service enable -d cxi0 -s ",
		},
		"few RGIDs": {shows(func(d *core.Device) { d.RGIDs = core.Stock{Total: 255, Free: 7} }), "warning", "NIC cxi1: few more applications can", "7 of 255", "`weft services`"},
		"no RGID":   {shows(func(d *core.Device) { d.RGIDs = core.Stock{Total: 255} }), "warning", "NIC cxi1: no more applications can", "0 of 255", "`weft services`"},
		"a service of a VNI of Weft's and another": {
			func(t *testing.T, r *rig) { t.Helper(); uid := uint32(4242); r.foreign(t, "cxi1", &uid, 5001, 98) },
			"warning", "a service is of uid 4242, who has no job", "VNIs 5001,98", "`cxi_service delete -d cxi1 -s 4`",
		},
		"a service of a VNI of Weft's and another, for everybody": {
			func(t *testing.T, r *rig) { t.Helper(); r.foreign(t, "cxi1", nil, 5001, 98) },
			"critical", "a service belongs to nobody and lets every user of the node in", "VNIs 5001,98", "`cxi_service delete -d cxi1 -s 4`",
		},
		"a service of other VNIs, for everybody": {
			func(t *testing.T, r *rig) { t.Helper(); r.foreign(t, "cxi1", nil, 98) },
			"warning", "a service belongs to nobody and lets every user of the node in", "VNIs 98", "`cxi_service delete -d cxi1 -s 4`",
		},
		"bypassed": {bypass(""), "critical", "Weft is bypassed on this node", "until 2000-01-01T01:00:00Z", "`weft agent bypass --end`"},
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
			}, "warning", "the agent has no session with the server", "no connection stands: server: its connection ended", "`weft status`",
		},
		"a server that does not answer": {
			func(_ *testing.T, r *rig) {
				r.server.mu.Lock()
				r.server.mute = true
				r.server.mu.Unlock()
				r.server.cut <- core.Errorf(core.ServerAway, "server: its connection ended")
				time.Sleep(time.Minute) // the agent comes again
				synctest.Wait()
			}, "warning", "the agent has no session with the server", "no connection stands: ", "`weft status`",
		},
		"two hosts": {
			func(_ *testing.T, r *rig) {
				r.server.orders <- core.Orders{TwoHosts: core.TwinPrefix + "10.0.0.1 and 10.0.0.2"}
				synctest.Wait()
			}, "critical", "no job starts on this node", "10.0.0.1 and 10.0.0.2", "the copied host",
		},
		"a fault of the node's own": {fails, "warning", "this node was taken out of service", "NIC cxi1: create: EIO", "`weft resume NODE`"},
		"a fault of the node's own, and a job since": {
			func(t *testing.T, r *rig) {
				t.Helper()
				fails(t, r)
				if out := r.Do(t.Context(), ask(core.Prepare, "slurm", "2", 1000), root); out.Err != nil {
					t.Fatal(out.Err)
				}
			}, "", "", "", "",
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
				case found[0].Severity != c.severity || !strings.HasPrefix(found[0].What, c.what) || !strings.Contains(found[0].Evidence, c.evidence) || !strings.Contains(found[0].Remedy, c.mend):
					t.Errorf("got %+v", found[0])
				}
			})
		})
	}
}

// TestRemedyOfADriver: the driver may know how to repair what it could not read.
func TestRemedyOfADriver(t *testing.T) {
	for name, c := range map[string]struct {
		err  *core.Error
		want []string
	}{
		"a remedy of its own": {
			core.Errorf(core.NICFailed, "libcxi: libcxi.so.1: cannot be loaded").WithRemedy("install libcxi"),
			[]string{"install libcxi"},
		},
		"none": {
			core.Errorf(core.NICFailed, "NIC cxi0: EIO"), []string{"look for the NIC in the kernel's log"},
		},
		"a dead plugin": {
			core.Errorf(core.DriverAway, "driver cxi: it ended"), []string{"`weft plugin list`"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t)
				r.driver.NICDriver = ill{NICDriver: r.driver.NICDriver, read: c.err}
				found := r.Doctor(t.Context(), pools, 0)
				if len(found) != len(c.want) {
					t.Fatalf("got %+v", found)
				}
				for i, want := range c.want {
					if !strings.HasPrefix(found[i].Remedy, want) {
						t.Errorf("got %+v, want the remedy %s", found[i], want)
					}
				}
			})
		})
	}
}

// TestARepairIsSeenAtOnce: the doctor looks at NICs that could not be read, and does not repeat their old error.
func TestARepairIsSeenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		good := r.driver.NICDriver
		r.driver.NICDriver = ill{NICDriver: good, read: core.Errorf(core.NICFailed, "NIC cxi0: EIO")}
		if err := r.Reread(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second) // of the test's clock: the agent takes the NICs for unreadable after 5 s
		if found := r.Doctor(t.Context(), pools, 0); found[0].Severity != "critical" || r.machineUnread(t) == nil {
			t.Fatalf("got %+v", found)
		}
		r.driver.NICDriver = good
		if found := r.Doctor(t.Context(), pools, 0); found[0].Severity == "critical" {
			t.Errorf("after the repair: %+v", found)
		}
	})
}

// TestTheNICThatHangsIsNamed: the doctor names the NIC because of which the services cannot be read, and no other.
func TestTheNICThatHangsIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		r.driver.NICDriver = ill{
			NICDriver: r.driver.NICDriver, read: core.Errorf(core.NICFailed, "NIC cxi1: it did not answer within 4s"),
			change: func(d *core.Device) { d.Fault = "NIC cxi1: it did not answer within 2s" },
		}
		if err := r.Reread(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second) // of the test's clock: the agent takes the NICs for unreadable after 5 s
		found := r.Doctor(t.Context(), pools, 0)
		if r.machineUnread(t) == nil || len(found) != 1 || found[0].What != "NIC cxi1 cannot be used" {
			t.Errorf("got %+v", found)
		}
	})
}

func (r *rig) machineUnread(t *testing.T) (unread *core.Error) {
	t.Helper()
	if err := r.Look(t.Context(), func(m *node.Machine) { unread = m.Unread() }); err != nil {
		t.Fatal(err)
	}
	return unread
}

// TestFindingsOfSeveralNICsAreOne: what is wrong with all of a node's NICs alike is told once, with a command for each; what differs is told for each.
func TestFindingsOfSeveralNICsAreOne(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*core.Device)
		want   []agent.FindingRow
	}{
		"default service": {
			func(d *core.Device) { d.Open = true }, []agent.FindingRow{{
				Severity: "critical", Of: "node", Evidence: "service 1 is enabled", NICs: []string{"cxi0", "cxi1"},
				What:   "NIC cxi[0-1]: its default service is enabled: every user of the node can use VNIs 1 and 10 without a job, which voids isolation",
				Remedy: "`cxi_service disable -d cxi0 -s 1; cxi_service disable -d cxi1 -s 1`, and cxi_ss1.disable_default_svc=1 for the next boot",
			}},
		},
		"QoS profile": {
			func(d *core.Device) { d.Classes = core.BestEffort }, []agent.FindingRow{{
				Severity: "warning", Of: "node", Evidence: "the profile has BEST_EFFORT", NICs: []string{"cxi0", "cxi1"},
				What:   "NIC cxi[0-1]: its QoS profile lacks LOW_LATENCY, which policy gives to jobs that do not ask: their traffic in it fails",
				Remedy: core.ProfileRemedy + "; or take it out of traffic_classes in the policy",
			}},
		},
		"another fault each": {
			func(d *core.Device) { d.Fault = "EIO of " + d.Name }, []agent.FindingRow{
				{
					Severity: "critical", Of: "node", Evidence: "EIO of cxi0", What: "NIC cxi0 cannot be used",
					Remedy: "look for the NIC in the kernel's log; a reboot of the node ends every service on it",
					NICs:   []string{"cxi0"},
				},
				{
					Severity: "critical", Of: "node", Evidence: "EIO of cxi1", What: "NIC cxi1 cannot be used",
					Remedy: "look for the NIC in the kernel's log; a reboot of the node ends every service on it",
					NICs:   []string{"cxi1"},
				},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t)
				r.driver.NICDriver = ill{NICDriver: r.driver.NICDriver, change: c.change, all: true}
				site := agent.Site{Ours: pools.Ours, Classes: func() core.Classes { return core.LowLatency | core.BestEffort }}
				got := slices.DeleteFunc(r.Doctor(t.Context(), site, 0), func(f agent.FindingRow) bool { return f.Severity == "good" })
				if d := cmp.Diff(c.want, got); d != "" {
					t.Error(d)
				}
			})
		})
	}
}
