package node

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weft-hpc/weft/core"
)

// What the NICs are like decides whether a job gets them, and whose fault it is when it does not.
func TestNICs(t *testing.T) {
	for _, test := range []struct {
		name  string
		nics  func(*nics)
		grant func(*core.Grant)
		want  core.Reason
		on    int    // NICs that carry a service
		warn  string // part of a warning
		drain bool
	}{
		{name: "all well", on: 3},
		{name: "no NIC", nics: func(n *nics) { n.devices = nil }, want: core.NICMissing, drain: true},
		{name: "one vanished", nics: func(n *nics) { n.devices = n.devices[:2] },
			grant: func(g *core.Grant) { g.Inventory = []string{"cxi0", "cxi1", "cxi2"} }, want: core.NICMissing, drain: true},
		{name: "one vanished and policy bears it", nics: func(n *nics) { n.devices = n.devices[:2] },
			grant: func(g *core.Grant) { g.Inventory, g.MinNICs = []string{"cxi0", "cxi1", "cxi2"}, 2 }, on: 2, warn: "2 of 3 NICs: cxi2 is not there"},
		{name: "two vanished and policy bears one", nics: func(n *nics) { n.devices = n.devices[:1] },
			grant: func(g *core.Grant) { g.Inventory, g.MinNICs = []string{"cxi0", "cxi1", "cxi2"}, 2 }, want: core.NICMissing, drain: true},
		{name: "fewer than policy wants", grant: func(g *core.Grant) { g.MinNICs = 4 }, want: core.NICMissing, drain: true},
		{name: "one that is not accepted yet", grant: func(g *core.Grant) { g.Inventory = []string{"cxi2", "cxi0"} }, on: 2},
		{name: "link down", nics: func(n *nics) { n.devices[1].Up = false }, want: core.NICMissing, drain: true},
		{name: "retry handler down", nics: func(n *nics) { n.devices[1].Retry = false }, want: core.NICMissing, drain: true},
		{name: "at fault", nics: func(n *nics) { n.devices[1].Fault = "uncorrectable error" }, grant: func(g *core.Grant) { g.MinNICs = 2 }, on: 2, warn: "cxi1 is at fault: uncorrectable error"},
		{name: "default service enabled", nics: func(n *nics) { n.devices[2].Open = true }, on: 3, warn: "NIC cxi2: its default service is enabled"},
		{name: "another's service with the job's VNI", nics: func(n *nics) {
			n.services = append(n.services, core.Service{Device: "cxi1", ID: 9, Owner: core.UID(7), VNIs: []core.VNI{9, 4034}})
		}, want: core.NICConflict, drain: true},
		{name: "the job's owner and VNI, and no record", nics: func(n *nics) {
			n.services = append(n.services, core.Service{Device: "cxi1", ID: 9, Owner: core.UID(1000), VNIs: []core.VNI{4034}})
		}, want: core.NICConflict, drain: true},
		{name: "a system service with the job's VNI", nics: func(n *nics) {
			n.services = append(n.services, core.Service{Device: "cxi1", ID: 9, VNIs: []core.VNI{4034}, System: true})
		}, want: core.NICConflict, drain: true},
		{name: "short of a resource", nics: func(n *nics) {
			n.make(core.ServiceSpec{Device: "cxi0", Owner: core.UID(5), VNIs: []core.VNI{77}, Limits: core.Limits{core.CT: {Max: 995, Reserved: 995}}})
		}, on: 3, warn: "NIC cxi0: cts: 5 reserved instead of 10"},
		{name: "below the floor", nics: func(n *nics) {
			n.make(core.ServiceSpec{Device: "cxi0", Owner: core.UID(5), VNIs: []core.VNI{77}, Limits: core.Limits{core.CT: {Max: 995, Reserved: 995}}})
		}, grant: func(g *core.Grant) { g.Floor[core.CT] = 6 }, want: core.BelowFloor},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(3)
			b.grant = func(r Reserve) (core.Grant, *core.Error) {
				g := grantOf(r, 4034)
				g.Warnings = []string{"policy's own"}
				if test.grant != nil {
					test.grant(&g)
				}
				return g, nil
			}
			if test.nics != nil {
				test.nics(b.nics)
			}
			before := len(b.ours())
			c := b.prepare(job("7", 0), 1000, 10)
			if test.want != "" { // the foreign service keeps the run from being clean, and the hook from an answer until then
				b.pass(2 * time.Second)
			}
			b.wantErr(t, c, test.want)
			if n := len(b.ours()) - before; n != test.on {
				t.Errorf("%d NICs carry a service, want %d", n, test.on)
			}
			if test.want == "" {
				w := b.replies[c].Warnings
				if len(w) == 0 || w[0] != "policy's own" || (len(w) > 1) != (test.warn != "") || !strings.Contains(strings.Join(w, "\n"), test.warn) {
					t.Errorf("warnings: %q, want policy's and %q", w, test.warn)
				}
			}
			if got := count[Drain](b) > 0; got != test.drain {
				t.Errorf("drained: %v, want %v", got, test.drain)
			}
		})
	}
}

// Two jobs read the NIC before either had made anything.
func TestRefit(t *testing.T) {
	b := newBench(2)
	b.grant = func(r Reserve) (core.Grant, *core.Error) {
		g := grantOf(r, 100+core.VNI(r.Ask.Key.Job[0]))
		g.Limits[core.TXQ] = core.Limit{Max: 1000, Reserved: 700}
		return g, nil
	}
	b.hold = func(a Action) bool { _, ok := a.(Create); return ok }
	one, two := b.prepare(job("1", 0), 1000, 10), b.prepare(job("2", 0), 1001, 10)
	b.release()
	b.wantErr(t, one, "")
	b.wantErr(t, two, "")
	b.wantPhases(t, Ready, Ready)
	for _, s := range b.ours()[2:] {
		if s.Limits[core.TXQ] != (core.Limit{Max: 1000, Reserved: 300}) {
			t.Errorf("%s: %+v", s.Device, s.Limits[core.TXQ])
		}
	}
	want := []string{"NIC cxi[0-1]: txqs: 300 reserved instead of 700: the NIC has no more left"}
	if d := cmp.Diff(want, b.replies[two].Warnings); d != "" {
		t.Errorf("warnings (-want +got):\n%s", d)
	}
	if p := all[Publish](b); !slices.Equal(p[len(p)-1].Warnings, want) {
		t.Errorf("the job's owner is told %q", p[len(p)-1].Warnings)
	}
	if short := all[Short](b); len(short) != 1 || !slices.Equal(short[0].Warnings, want) {
		t.Errorf("counted as short: %+v", short)
	}
}

func TestRefitEnds(t *testing.T) {
	for _, test := range []struct {
		name  string
		floor uint16
		want  core.Reason
	}{{"at its bound", 0, core.NICShort}, {"at the floor", 10, core.BelowFloor}} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(2)
			b.cfg.Refits = 3
			b.start()
			b.grant = func(r Reserve) (core.Grant, *core.Error) {
				g := grantOf(r, 4034)
				g.Limits[core.TXQ] = core.Limit{Max: 1000, Reserved: 700}
				g.Floor[core.TXQ] = test.floor
				return g, nil
			}
			b.hold = func(a Action) bool { _, ok := a.(Create); return ok }
			c := b.prepare(job("7", 0), 1000, 10)
			creates := 0
			for len(b.held) > 0 {
				a := b.held[0].(Create)
				b.held = b.held[1:]
				creates++
				var out []core.Created
				for _, s := range a.Specs { // cxi0 never has enough
					if s.Device == "cxi1" {
						out = append(out, b.nics.make(s))
					} else {
						out = append(out, core.Created{Err: core.Errorf(core.NICShort, "ENOSPC").WithShort(core.Shortage{Device: s.Device, Resource: core.TXQ, Have: 5})})
					}
				}
				b.step(Made{Attempt: a.Attempt, Results: out})
			}
			b.wantErr(t, c, test.want)
			b.wantPhases(t, Clean)
			if creates > 4 {
				t.Errorf("%d attempts", creates)
			}
		})
	}
}

// All NICs or none.
func TestRollBack(t *testing.T) {
	for _, test := range []struct {
		name string
		made func(*bench, Create) Made
		left int // that the machine may not touch
	}{
		{"one NIC fails", func(b *bench, a Create) Made {
			return Made{Results: []core.Created{b.nics.make(a.Specs[0]), {Err: core.Errorf(core.NICFailed, "EIO")}, b.nics.make(a.Specs[2])}}
		}, 0},
		{"the driver is too slow, and is killed", func(b *bench, a Create) Made {
			b.nics.make(a.Specs[0])
			return Made{Err: core.Errorf(core.TimedOut, "no answer")}
		}, 0},
		{"a result is missing", func(b *bench, a Create) Made {
			return Made{Results: []core.Created{b.nics.make(a.Specs[0])}}
		}, 0},
		{"a service has another VNI", func(b *bench, a Create) Made {
			spec := a.Specs[1]
			spec.VNIs = []core.VNI{4035}
			return Made{Results: []core.Created{b.nics.make(a.Specs[0]), b.nics.make(spec), b.nics.make(a.Specs[2])}}
		}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(3)
			b.hold = func(a Action) bool { _, ok := a.(Create); return ok }
			c := b.prepare(job("7", 0), 1000, 10)
			a := b.held[0].(Create)
			m := test.made(b, a)
			m.Attempt = a.Attempt
			b.hold = func(a Action) bool {
				if _, ok := a.(Reply); ok && len(b.ours()) != test.left {
					t.Errorf("answered before the roll-back was done")
				}
				return false
			}
			b.step(m)
			b.hold = nil
			err := b.wantErr(t, c, b.replies[c].Err.Reason)
			if err == nil || err.Scope() != core.ScopeNode || count[Drain](b) != 1 {
				t.Errorf("error %v, drained %d times", err, count[Drain](b))
			}
			if e := b.m.Entries(); len(e) != 1 || e[0].State != Clean || len(b.ours()) != test.left {
				t.Errorf("%v; left: %+v", e[0].State, b.ours())
			}
			// The same fault is not said again at once, but after a while.
			b.nics.devices[0].Fault = "x"
			b.wantErr(t, b.prepare(job("8", 0), 1000, 10), core.NICMissing)
			b.wantErr(t, b.prepare(job("9", 0), 1000, 10), core.NICMissing)
			if count[Drain](b) != 2 {
				t.Errorf("drained %d times", count[Drain](b))
			}
			b.pass(6 * time.Minute)
			b.prepare(job("10", 0), 1000, 10)
			if count[Drain](b) != 3 {
				t.Errorf("drained %d times", count[Drain](b))
			}
		})
	}
}

// A roll-back that cannot end does not keep the hook.
func TestRollBackIsSlow(t *testing.T) {
	b := newBench(2)
	b.hold = func(a Action) bool { _, ok := a.(Create); return ok }
	c := b.prepare(job("7", 0), 1000, 10)
	a := b.held[0].(Create)
	made := b.nics.make(a.Specs[0])
	b.nics.busy["cxi0/3"] = true
	b.step(Made{Attempt: a.Attempt, Results: []core.Created{made, {Err: core.Errorf(core.NICFailed, "EIO")}}})
	b.pass(time.Second)
	if _, answered := b.replies[c]; answered {
		t.Errorf("answered before two seconds")
	}
	b.pass(time.Second)
	b.wantErr(t, c, core.NICFailed)
	b.wantPhases(t, Cleaning)
	clear(b.nics.busy)
	b.pass(10 * time.Second)
	b.wantPhases(t, Clean)
}

// A driver that is just being started costs a hook time and no node.
func TestDriverStarts(t *testing.T) {
	b := newBench(1)
	away := true
	b.hold = func(a Action) bool { _, ok := a.(Look); return ok && away }
	c := b.prepare(job("7", 0), 1000, 10)
	b.step(Read{Attempt: b.held[0].(Look).Attempt, Err: core.Errorf(core.DriverAway, "starting")})
	away = false
	b.pass(time.Second)
	b.wantErr(t, c, "")
	if count[Drain](b) != 0 {
		t.Errorf("drained")
	}
	away, b.held = true, nil
	c = b.prepare(job("8", 0), 1000, 10)
	for range 8 {
		if len(b.held) > 0 {
			l := b.held[0].(Look)
			b.held = b.held[1:]
			b.step(Read{Attempt: l.Attempt, Err: core.Errorf(core.DriverAway, "down for good").WithRemedy("`weft plugin restart driver cxi`")})
		}
		b.pass(time.Second)
	}
	// What the driver itself says to do is said on: that of its reason is for one that comes back by itself.
	if err := b.wantErr(t, c, core.DriverAway); err == nil || err.Remedy != "`weft plugin restart driver cxi`" {
		t.Errorf("what to do about it: %v", err)
	}
}

// A driver's process that ends in the middle is no fault of a NIC: the next one is asked once more, for what is not there yet.
func TestDriverDies(t *testing.T) {
	b := newBench(3)
	deaths := 1
	b.hold = func(a Action) bool { _, ok := a.(Create); return ok && deaths > 0 }
	die := func() {
		a := b.held[len(b.held)-1].(Create)
		b.nics.make(a.Specs[0])
		deaths--
		b.step(Made{Attempt: a.Attempt, Err: core.Errorf(core.DriverAway, "its process was killed")})
	}
	c := b.prepare(job("7", 0), 1000, 10)
	die()
	if _, answered := b.replies[c]; answered || len(b.ours()) != 1 {
		t.Fatalf("answered: %v; services: %+v", b.replies[c], b.ours())
	}
	b.pass(time.Second)
	b.wantErr(t, c, "")
	if count[Drain](b) != 0 || len(b.ours()) != 3 || len(b.m.Entries()[0].Services) != 3 {
		t.Errorf("drained %d times; services: %+v, recorded %+v", count[Drain](b), b.ours(), b.m.Entries()[0].Services)
	}
	b.cleanUp(job("7", 0), 20)
	b.wantPhases(t, Clean)

	// One that dies of it each time drains the node.
	deaths = 2
	c = b.prepare(job("8", 0), 1000, 30)
	die()
	b.pass(time.Second)
	die()
	if err := b.wantErr(t, c, core.DriverAway); err == nil || err.Scope() != core.ScopeNode || count[Drain](b) != 1 || len(b.ours()) != 0 {
		t.Errorf("error %v; drained %d times; services: %+v", err, count[Drain](b), b.ours())
	}

	// One that does not come back within the hook's time costs this hook; the node is drained when it stays away.
	deaths = 1
	c = b.prepare(job("9", 0), 1000, 40)
	b.hold = func(a Action) bool { _, ok := a.(Look); return ok }
	die()
	away := func(d time.Duration) {
		for until := b.now + d; b.now < until; b.pass(time.Second) {
			for _, a := range b.held {
				if l, ok := a.(Look); ok {
					b.held = nil
					b.step(Read{Attempt: l.Attempt, Err: core.Errorf(core.DriverAway, "starting")})
				}
			}
		}
	}
	b.held = nil
	away(10 * time.Second)
	b.wantErr(t, c, core.DriverAway)
	if count[Drain](b) != 1 {
		t.Errorf("drained after 10 s")
	}
	away(5 * time.Minute)
	if count[Drain](b) != 2 {
		t.Errorf("drained %d times after 5 min", count[Drain](b))
	}
}

func TestEnvironmentIsTheOwners(t *testing.T) {
	b := newBench(2)
	b.grant = func(r Reserve) (core.Grant, *core.Error) {
		g := grantOf(r, 4034, 4035)
		g.Classes = core.LowLatency | core.BestEffort
		g.Collective = &core.Collective{JobID: "tioga-7", Token: "secret", URL: "https://fm", Addresses: 4, MinNodes: 2}
		return g, nil
	}
	b.prepare(job("7", 0), 1000, 10)
	ask := core.Intent{Action: core.Environment, Key: job("7", 3), Step: "2"} // TaskProlog knows no restart count
	want := []core.Variable{
		{Name: "WEFT_FROM", Unset: true},
		{Name: "WEFT_JOB", Unset: true},
		{Name: "WEFT_NODE", Unset: true},
		{Name: "SLINGSHOT_VNIS", Value: "4034,4035"},
		{Name: "SLINGSHOT_DEVICES", Value: "cxi0,cxi1"},
		{Name: "SLINGSHOT_SVC_IDS", Value: "3,3"},
		{Name: "SLINGSHOT_TCS", Value: "0xa"},
		{Name: "FI_CXI_COLL_JOB_ID", Value: "tioga-7"},
		{Name: "FI_CXI_COLL_JOB_STEP_ID", Value: "2"},
		{Name: "FI_CXI_COLL_MCAST_TOKEN", Value: "secret"},
		{Name: "FI_CXI_COLL_FABRIC_MGR_URL", Value: "https://fm"},
		{Name: "FI_CXI_HWCOLL_ADDRS_PER_JOB", Value: "4"},
		{Name: "FI_CXI_HWCOLL_MIN_NODES", Value: "2"},
	}
	for _, uid := range []uint32{1000, 0} {
		c := b.hook(ask, uid)
		b.wantErr(t, c, "")
		if d := cmp.Diff(want, b.replies[c].Environment); d != "" {
			t.Errorf("uid %d (-want +got):\n%s", uid, d)
		}
	}
	b.wantErr(t, b.hook(ask, 1001), core.NoRecord)
	b.wantErr(t, b.hook(core.Intent{Action: core.Environment, Key: job("8", 0)}, 1000), core.NoRecord)
	if got := Network(b.m.Entries()[0]); got[0] != (core.Variable{Name: "FI_CXI_COLL_JOB_STEP_ID", Unset: true}) || len(got) != 10 {
		t.Errorf("without a step: %+v", got)
	}
	b.cleanUp(job("7", 0), 20)
	b.wantErr(t, b.hook(ask, 1000), core.NoRecord)
	if i := slices.IndexFunc(b.books.all(), func(r Record) bool { e, ok := r.(Entry); return ok && e.Grant.Collective != nil }); i >= 0 {
		t.Errorf("the token is still in the store after the job")
	}
}

// A driver may claim services that it did not make so. No job starts on its word alone, and what it did make goes again.
func TestDriverThatLiesAtCreate(t *testing.T) {
	for _, test := range []struct {
		name string
		made func(*core.Service) bool // what the NIC holds in place of the claim; false: nothing
		left int                      // services that a person must remove
		want core.Reason
	}{
		{name: "all well", made: func(*core.Service) bool { return true }, left: 2},
		{name: "an id that it never made", made: func(*core.Service) bool { return false }, want: core.NICFailed},
		{name: "another id", made: func(s *core.Service) bool { s.ID = 77; return true }, want: core.NICFailed},
		{name: "another owner", made: func(s *core.Service) bool { s.Owner = core.UID(7); return true }, left: 1, want: core.NICFailed},
		{name: "a VNI missing", made: func(s *core.Service) bool { s.VNIs = s.VNIs[:1]; return true }, left: 1, want: core.NICFailed},
		{name: "another class", made: func(s *core.Service) bool { s.Classes = core.LowLatency; return true }, want: core.NICFailed},
		{name: "disabled", made: func(s *core.Service) bool { s.Enabled = false; return true }, want: core.NICFailed},
		{name: "no limits", made: func(s *core.Service) bool { s.Limits = core.Limits{}; return true }, want: core.NICFailed},
		{name: "a smaller reservation", made: func(s *core.Service) bool { s.Limits[core.PTE].Reserved--; return true }, want: core.NICFailed},
		{name: "a higher ceiling", made: func(s *core.Service) bool { s.Limits[core.PTE].Max++; return true }, want: core.NICFailed},
		{name: "the system's own", made: func(s *core.Service) bool { s.System = true; return true }, left: 0, want: core.NICConflict},
		{name: "the default one", made: func(s *core.Service) bool { s.Default = true; return true }, left: 0, want: core.NICConflict},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(2)
			b.grant = func(r Reserve) (core.Grant, *core.Error) { return grantOf(r, 4034, 4035), nil }
			b.hold = func(a Action) bool { _, create := a.(Create); return create }
			c := b.prepare(job("7", 0), 1000, 10)
			create := b.held[0].(Create)
			b.held, b.hold = nil, nil
			made := Made{Attempt: create.Attempt}
			for _, spec := range create.Specs {
				made.Results = append(made.Results, b.nics.make(spec))
			}
			last := len(b.nics.services) - 1
			if !test.made(&b.nics.services[last]) {
				b.nics.services = b.nics.services[:last]
			}
			b.step(made)
			b.pass(2 * time.Second)
			b.wantErr(t, c, test.want)
			if left := b.ours(); len(left) != test.left {
				t.Errorf("left on the NICs: %+v, want %d", left, test.left)
			}
		})
	}
}

// A driver that makes another service than was asked for, and says so, gets no job started on it.
func TestDriverThatMakesAnother(t *testing.T) {
	for name, change := range map[string]func(*core.ServiceSpec){
		"another NIC":   func(s *core.ServiceSpec) { s.Device = "cxi0" },
		"another owner": func(s *core.ServiceSpec) { s.Owner = core.UID(7) },
		"for a group":   func(s *core.ServiceSpec) { s.Owner.Kind = core.OwnerGID },
		"a VNI missing": func(s *core.ServiceSpec) { s.VNIs = s.VNIs[:1] },
		"another class": func(s *core.ServiceSpec) { s.Classes = core.LowLatency },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(2)
			b.grant = func(r Reserve) (core.Grant, *core.Error) { return grantOf(r, 4034, 4035), nil }
			b.hold = func(a Action) bool { _, create := a.(Create); return create }
			c := b.prepare(job("7", 0), 1000, 10)
			create := b.held[0].(Create)
			b.held, b.hold = nil, nil
			other := create.Specs[1]
			change(&other)
			b.step(Made{Attempt: create.Attempt, Results: []core.Created{b.nics.make(create.Specs[0]), b.nics.make(other)}})
			b.pass(2 * time.Second)
			b.wantErr(t, c, core.NICConflict)
		})
	}
}
