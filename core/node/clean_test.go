package node

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
)

func TestBusyService(t *testing.T) {
	b := newBench(2)
	b.step(Linked{Up: true})
	b.prepare(job("7", 0), 1000, 10)
	b.nics.busy["cxi1/3"] = true
	c := b.cleanUp(job("7", 0), 20)
	b.pass(1900 * time.Millisecond)
	if _, answered := b.replies[c]; answered {
		t.Errorf("answered early")
	}
	b.pass(100 * time.Millisecond)
	if o := b.replies[c]; o.Err != nil || !o.Pending || len(o.Warnings) != 1 || !strings.Contains(o.Warnings[0], "NIC cxi1: service 3 with VNIs 4034 is still in use") {
		t.Errorf("clean-up: %+v", o)
	}
	if h := lastHeld(b); h.State != core.HeldBusy || h.Why == "" {
		t.Errorf("told: %+v", h)
	}
	before := count[Destroy](b)
	b.pass(time.Minute)
	if n := count[Destroy](b) - before; n < 10 || n > 14 {
		t.Errorf("tried %d times in a minute, want one in 5 s", n)
	}
	b.pass(5 * time.Minute)
	d := all[Drain](b)
	if len(d) != 1 || !strings.Contains(d[0].Reason, "job slurm/7 of uid 1000, VNIs 4034: after 5m0s it cannot remove services: NIC cxi1: service 3") {
		t.Errorf("drained: %q", d)
	}
	if i := slices.IndexFunc(all[Tell](b), func(t Tell) bool { return t.Report.Fault != "" }); i < 0 {
		t.Errorf("the server was not told of the fault")
	}
	told := count[Tell](b)
	b.pass(time.Hour)
	if n := count[Tell](b) - told; n > 0 || count[Drain](b) != 1 {
		t.Errorf("told %d times of nothing new, drained %d times", n, count[Drain](b))
	}
	clear(b.nics.busy)
	b.pass(time.Minute)
	b.wantPhases(t, Clean)
	if h := lastHeld(b); h.State != core.HeldClean {
		t.Errorf("told: %+v", h)
	}
}

func lastHeld(b *bench) core.Held {
	tells := all[Tell](b)
	for i := len(tells) - 1; i >= 0; i-- {
		if h := tells[i].Report.Held; len(h) > 0 {
			return h[len(h)-1]
		}
	}
	return core.Held{}
}

func TestVanishedNICIsNotClean(t *testing.T) {
	for _, how := range []string{"vanished", "at fault"} {
		t.Run(how, func(t *testing.T) {
			b := newBench(2)
			b.prepare(job("7", 0), 1000, 10)
			spare := b.nics.devices[1]
			if how == "vanished" {
				b.nics.devices = b.nics.devices[:1]
			} else { // its driver shows nothing of it any more
				b.nics.devices[1].Fault = "PCIe link down"
				b.nics.services = slices.DeleteFunc(b.nics.services, func(s core.Service) bool { return s.Device == "cxi1" && s.ID > 2 })
			}
			b.cleanUp(job("7", 0), 20)
			b.pass(time.Hour)
			if got := b.m.Entries()[0].State; got != Cleaning || count[Drain](b) != 1 {
				t.Errorf("%v, drained %d times", got, count[Drain](b))
			}
			b.nics.devices = append(b.nics.devices[:1], spare)
			b.pass(time.Minute)
			b.wantPhases(t, Clean)
		})
	}
}

// What the driver says is not believed: a reading is.
func TestDriverThatLies(t *testing.T) {
	b := newBench(1)
	b.prepare(job("7", 0), 1000, 10)
	lie := true
	b.hold = func(a Action) bool { _, ok := a.(Destroy); return ok && lie }
	c := b.cleanUp(job("7", 0), 20)
	b.step(Removed{Attempt: b.held[0].(Destroy).Attempt, Errs: []*core.Error{nil}})
	b.wantPhases(t, Cleaning)
	lie = false
	b.pass(time.Second)
	b.wantErr(t, c, "")
	b.wantPhases(t, Clean)
}

func TestForeignServiceKeepsARunFromBeingClean(t *testing.T) {
	b := newBench(1)
	b.prepare(job("7", 0), 1000, 10)
	alien := core.Service{Device: "cxi0", ID: 9, Owner: core.UID(1000), VNIs: []core.VNI{4034}}
	b.nics.services = append(b.nics.services, alien)
	b.cleanUp(job("7", 0), 20)
	b.pass(time.Minute)
	if got := b.ours(); len(got) != 1 || !got[0].Same(alien) {
		t.Errorf("on the NIC: %+v, want only what is not the job's", got)
	}
	if got := b.m.Entries()[0].State; got != Cleaning {
		t.Errorf("%v while a service holds the run's VNI", got)
	}
}

func TestCleanUpDuringPrepare(t *testing.T) {
	t.Run("while the server is asked", func(t *testing.T) {
		b := newBench(1)
		b.step(Linked{Up: true})
		b.hold = func(a Action) bool { _, ok := a.(Reserve); return ok }
		p := b.prepare(job("7", 0), 1000, 10)
		c := b.cleanUp(job("7", 0), 20)
		b.wantErr(t, p, core.Cancelled)
		b.wantErr(t, c, "")
		again := b.prepare(job("7", 0), 1000, 5) // late
		b.wantErr(t, again, core.JobEnded)
		b.release()
		b.wantPhases(t, Clean)
		if h := lastHeld(b); h.State != core.HeldClean || count[Create](b) != 0 {
			t.Errorf("told %+v, made %d times", h, count[Create](b))
		}
		b.wantErr(t, b.prepare(job("7", 0), 1000, 30), core.JobEnded) // the same run
	})
	t.Run("while services are made", func(t *testing.T) {
		b := newBench(2)
		b.hold = func(a Action) bool { _, ok := a.(Create); return ok }
		p := b.prepare(job("7", 0), 1000, 10)
		c := b.cleanUp(job("7", 0), 20)
		b.wantErr(t, p, core.Cancelled)
		if _, answered := b.replies[c]; answered || count[Destroy](b) > 0 {
			t.Errorf("the driver's call was not waited for")
		}
		b.pass(3 * time.Second)
		if !b.replies[c].Pending {
			t.Errorf("clean-up: %+v", b.replies[c])
		}
		b.release()
		b.wantPhases(t, Clean)
		if count[Create](b) != 1 || count[Publish](b) != 0 {
			t.Errorf("made %d times, published %d times", count[Create](b), count[Publish](b))
		}
	})
	t.Run("while the driver hangs, and another job comes", func(t *testing.T) {
		b := newBench(2)
		b.grant = func(r Reserve) (core.Grant, *core.Error) { return grantOf(r, 100+core.VNI(r.Ask.Key.Job[0])), nil }
		b.hold = func(a Action) bool { c, ok := a.(Create); return ok && c.Run.Job == "7" }
		b.prepare(job("7", 0), 1000, 10)
		b.cleanUp(job("7", 0), 20)
		b.wantErr(t, b.prepare(job("8", 0), 1000, 10), "")
		b.wantErr(t, b.cleanUp(job("8", 0), 20), "")
		b.pass(6 * time.Minute)
		if d := all[Drain](b); len(d) != 1 || !strings.Contains(d[0].Reason, "cannot create service: no answer for 5s") {
			t.Errorf("drained: %q", d)
		}
	})
}

func TestOrders(t *testing.T) {
	run := core.Run{Key: job("7", 0), Fingerprint: core.Fingerprint{UID: 1000, Submitted: 1}}
	clean := Ordered{core.Orders{Head: core.Head{Store: "s", Epoch: 1, Revision: 1}, Clean: []core.Clean{{Run: run, VNIs: []core.VNI{4034}}}}}
	confirmed := func(b *bench) int {
		n := 0
		for _, a := range all[Tell](b) {
			for _, h := range a.Report.Held {
				if h.Run == run && h.State == core.HeldClean {
					n++
				}
			}
		}
		return n
	}
	t.Run("clean what is ready, then forget it", func(t *testing.T) {
		b := newBench(1)
		b.step(Linked{Up: true})
		b.prepare(job("7", 0), 1000, 10)
		b.step(Ordered{core.Orders{Forget: []core.Run{run}}}) // not clean: nothing happens
		b.wantPhases(t, Ready)
		b.step(clean)
		b.wantPhases(t, Clean)
		b.step(clean) // it is repeated
		if n := confirmed(b); n != 2 {
			t.Errorf("confirmed %d times", n)
		}
		b.step(Ordered{core.Orders{Forget: []core.Run{run}}})
		b.wantPhases(t)
		b.start()
		b.wantPhases(t)
		b.wantErr(t, b.prepare(job("7", 0), 1000, 30), core.JobEnded)
	})
	t.Run("clean what there is no record of", func(t *testing.T) {
		b := newBench(1)
		b.step(Linked{Up: true})
		b.hold = func(a Action) bool { _, ok := a.(Look); return ok }
		b.step(clean)
		b.step(clean)
		if confirmed(b) != 0 || len(b.held) != 1 {
			t.Errorf("confirmed %d times before a reading; %d readings", confirmed(b), len(b.held))
		}
		b.release()
		if n := confirmed(b); n != 1 {
			t.Errorf("confirmed %d times", n)
		}
		b.wantErr(t, b.prepare(job("7", 0), 1000, 30), core.JobEnded) // its grant was on its way
	})
	t.Run("an older reading does not confirm", func(t *testing.T) {
		b := newBench(1)
		b.step(Linked{Up: true})
		b.hold = func(a Action) bool { _, ok := a.(Look); return ok }
		b.pass(61 * time.Second) // a sweep begins
		older := b.nics.reading(b.held[0].(Look).Attempt)
		b.held = nil
		b.nics.services = append(b.nics.services, core.Service{Device: "cxi0", ID: 9, VNIs: []core.VNI{4034}})
		b.step(clean)
		b.step(older)
		if confirmed(b) != 0 || len(b.held) != 1 {
			t.Errorf("confirmed %d times; %d readings", confirmed(b), len(b.held))
		}
		b.release()
		if r := all[Tell](b); confirmed(b) != 0 || len(r[len(r)-1].Report.Unknown) != 1 {
			t.Errorf("confirmed %d times; told %+v", confirmed(b), r[len(r)-1])
		}
	})
	t.Run("a NIC is missing", func(t *testing.T) {
		b := newBench(2)
		b.step(Linked{Up: true})
		spare := b.nics.devices[1]
		b.nics.devices = b.nics.devices[:1]
		b.step(clean)
		if confirmed(b) != 0 {
			t.Errorf("confirmed")
		}
		b.nics.devices = append(b.nics.devices, spare)
		b.step(clean)
		if confirmed(b) != 1 {
			t.Errorf("not confirmed")
		}
	})
	t.Run("a deposed server", func(t *testing.T) {
		b := newBench(1)
		b.prepare(job("7", 0), 1000, 10)
		old := clean
		old.Orders.Head.Epoch = 0
		b.step(old)
		b.wantPhases(t, Ready)
		if s := all[Say](b); len(s) != 1 || !s[0].Bad {
			t.Errorf("said: %+v", s)
		}
		b.start()
		b.step(old) // a restart does not forget whom it has seen
		b.wantPhases(t, Ready)
	})
	t.Run("a newer generation of the job is not meant", func(t *testing.T) {
		b := newBench(1)
		b.prepare(job("7", 1), 1000, 10)
		b.step(clean)
		b.wantPhases(t, Ready)
	})
}

func TestReports(t *testing.T) {
	b := newBench(2)
	b.grant = func(r Reserve) (core.Grant, *core.Error) { return grantOf(r, 100+core.VNI(r.Ask.Key.Job[0])), nil }
	b.prepare(job("1", 0), 1000, 10)
	b.cleanUp(job("9", 0), 5)
	if n := count[Tell](b); n != 0 {
		t.Fatalf("told %d times without a session", n)
	}
	b.nics.services = append(b.nics.services, core.Service{Device: "cxi1", ID: 9, VNIs: []core.VNI{7}})
	b.step(Linked{Up: true})
	r := all[Tell](b)[0].Report
	if !r.Full || r.Number != 1 || r.Boot != "boot-1" || r.Seen.Store != "s" || !slices.Equal(r.Devices, []string{"cxi0", "cxi1"}) || len(r.Held) != 1 ||
		r.Held[0].State != core.HeldReady || len(r.Held[0].Services) != 2 || len(r.Unknown) != 1 || len(r.Epilogs) != 1 {
		t.Errorf("the first report: %+v", r)
	}
	b.prepare(job("2", 0), 1000, 10)
	b.cleanUp(job("2", 0), 20)
	b.pass(10 * time.Minute) // sweeps that find nothing new
	tells := all[Tell](b)[1:]
	var states []core.HeldState
	for i, a := range tells {
		if a.Report.Number != uint64(i)+2 || a.Report.Full || a.Report.Changed {
			t.Errorf("report %+v", a.Report)
		}
		for _, h := range a.Report.Held {
			states = append(states, h.State)
		}
	}
	if !slices.Equal(states, []core.HeldState{core.HeldReady, core.HeldCleaning, core.HeldClean}) {
		t.Errorf("told: %v", states)
	}
	b.nics.devices = b.nics.devices[:1]
	b.pass(time.Minute)
	r = all[Tell](b)[count[Tell](b)-1].Report
	if !r.Changed || len(r.Devices) != 1 || len(r.Unknown) != 0 {
		t.Errorf("after a NIC vanished: %+v", r)
	}
	b.step(Linked{})
	n := count[Tell](b)
	b.cleanUp(job("1", 0), 20)
	b.pass(10 * time.Minute)
	if count[Tell](b) != n {
		t.Errorf("told without a session")
	}
}

// A NIC that comes back is told within seconds, not at the next sweep: an administrator who has mended it looks whether it is seen.
func TestAReturnedNICIsToldSoon(t *testing.T) {
	b := newBench(2)
	b.step(Linked{Up: true})
	nics := b.nics.devices
	b.nics.devices = nics[:1]
	b.pass(time.Minute) // the sweep finds it away
	told := func() int {
		last := -1
		for _, a := range all[Tell](b) {
			if a.Report.Full || a.Report.Changed {
				last = len(a.Report.Devices)
			}
		}
		return last
	}
	if told() != 1 {
		t.Fatalf("%d NICs are told, want 1", told())
	}
	b.nics.devices = nics
	b.pass(6 * time.Second)
	if told() != 2 {
		t.Errorf("6 s after the NIC's return %d NICs are told, want 2", told())
	}
	looks := count[Look](b)
	b.pass(time.Minute)
	if n := count[Look](b) - looks; n > 1 {
		t.Errorf("%d readings in a minute though all is well", n)
	}
}

// A driver that answers for more or fewer services than it was to remove is asked again, and has removed nothing.
func TestDriverThatMiscountsAtDestroy(t *testing.T) {
	for _, extra := range []int{-1, 1} {
		b := newBench(2)
		b.prepare(job("7", 0), 1000, 10)
		b.hold = func(a Action) bool { _, ok := a.(Destroy); return ok && len(b.held) == 0 }
		c := b.cleanUp(job("7", 0), 20)
		destroy := b.held[0].(Destroy)
		errs := make([]*core.Error, len(destroy.Services)+extra)
		errs[len(errs)-1] = core.Errorf(core.ServiceBusy, "EBUSY")
		b.step(Removed{Attempt: destroy.Attempt, Errs: errs})
		b.wantPhases(t, Cleaning)
		if waits := b.m.find(destroy.Run).waits; !strings.Contains(waits, "does not remove") {
			t.Errorf("%d results for %d services: it waits for %q", len(errs), len(destroy.Services), waits)
		}
		b.pass(time.Second)
		b.wantErr(t, c, "")
		b.wantPhases(t, Clean)
	}
}

// A reading that began before a job was ready does not show that its services are gone.
func TestReadingOfWhatIsMadeMeanwhile(t *testing.T) {
	for name, making := range map[string]bool{"it began before the prepare": false, "it began while the services were made": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(1)
			b.step(Linked{Up: true})
			b.hold = func(a Action) bool {
				l, looks := a.(Look)
				_, creates := a.(Create)
				return looks && l.Run == (core.Run{}) || creates && making
			}
			b.pass(59 * time.Second)
			var call uint64
			if making {
				call = b.prepare(job("7", 0), 1000, 10)
			}
			b.pass(2 * time.Second)
			old := b.nics.reading(b.held[len(b.held)-1].(Look).Attempt)
			if making {
				b.do(b.held[0])
			} else {
				call = b.prepare(job("7", 0), 1000, 10)
			}
			b.wantErr(t, call, "")
			said := count[Say](b)
			b.step(old)
			if count[Say](b) != said || b.m.find(b.m.Entries()[0].Grant.Run).unfit != "" {
				t.Errorf("said of a service that stands: %+v", all[Say](b)[said:])
			}
		})
	}
}

// A service that was read just before it was removed is not told as unknown: only an administrator would free its VNI again.
func TestReadingOfWhatIsRemovedMeanwhile(t *testing.T) {
	b := newBench(1)
	b.step(Linked{Up: true})
	b.prepare(job("7", 0), 1000, 10)
	b.hold = func(a Action) bool { _, ok := a.(Look); return ok }
	b.pass(61 * time.Second)
	old := b.nics.reading(b.held[0].(Look).Attempt)
	b.hold, b.held = nil, nil
	b.cleanUp(job("7", 0), 20)
	b.step(Ordered{core.Orders{Forget: []core.Run{b.m.Entries()[0].Grant.Run}}})
	b.step(old)
	for _, a := range all[Tell](b) {
		if len(a.Report.Unknown) > 0 {
			t.Errorf("told as unknown: %+v", a.Report)
		}
	}
}

func TestRestart(t *testing.T) {
	t.Run("ready", func(t *testing.T) {
		b := newBench(1)
		b.prepare(job("7", 0), 1000, 10)
		b.start()
		b.wantPhases(t, Ready)
		if count[Publish](b) != 2 {
			t.Errorf("its file was not left again: the process may have died before it")
		}
		b.wantErr(t, b.prepare(job("7", 0), 1000, 10), "")
		b.cleanUp(job("7", 0), 20)
		b.start()
		b.wantPhases(t, Clean)
	})
	for made := range 3 {
		b := newBench(2)
		b.hold = func(a Action) bool { _, ok := a.(Create); return ok }
		b.prepare(job("7", 0), 1000, 10)
		for _, s := range b.held[0].(Create).Specs[:made] {
			b.nics.make(s)
		}
		b.hold = nil
		b.start()
		b.wantPhases(t, Ready)
		if n := len(b.ours()); n != 2 {
			t.Errorf("killed with %d services made: then there are %d", made, n)
		}
		b.wantErr(t, b.prepare(job("7", 0), 1000, 10), "") // the hook tries again
		b.cleanUp(job("7", 0), 20)
		b.wantPhases(t, Clean)
	}
	t.Run("cleaning", func(t *testing.T) {
		b := newBench(2)
		b.hold = func(a Action) bool { _, ok := a.(Create); return ok }
		b.prepare(job("7", 0), 1000, 10)
		b.cleanUp(job("7", 0), 20)
		for _, s := range b.held[0].(Create).Specs {
			b.nics.make(s)
		}
		b.hold = nil
		b.start()
		b.wantPhases(t, Clean)
		b.wantErr(t, b.prepare(job("7", 0), 1000, 30), core.JobEnded)
	})
}

func TestBounds(t *testing.T) {
	b := newBench(1)
	var orders core.Orders
	for i := range MaxTombstones + 10 {
		orders.Clean = append(orders.Clean, core.Clean{Run: core.Run{Key: job("7", uint32(i))}})
	}
	b.step(Ordered{orders})
	if n := len(b.books.of); n != MaxTombstones {
		t.Errorf("%d records", n)
	}
	if b.m.tombs.has(orders.Clean[9].Run) || !b.m.tombs.has(orders.Clean[10].Run) {
		t.Errorf("the oldest did not go first")
	}
	for i := range maxStamps + 10 {
		b.m.stamps.put(core.JobID{Job: string(rune(i + 1))}, 5)
	}
	if len(b.m.stamps.of) != maxStamps || len(b.m.stamps.order) != maxStamps {
		t.Errorf("%d stamps", len(b.m.stamps.of))
	}
	for i := range maxEpilogs + 10 {
		b.m.epilog(core.JobID{Job: string(rune(i + 1))})
	}
	if len(b.m.session.epilogs) != maxEpilogs {
		t.Errorf("%d epilogs", len(b.m.session.epilogs))
	}
}

func TestMine(t *testing.T) {
	made := core.Service{Device: "cxi0", ID: 7, Owner: core.UID(1000), VNIs: []core.VNI{20, 21}}
	recorded := &holding{Entry: Entry{Specs: []core.ServiceSpec{{Device: "cxi0"}, {Device: "cxi1"}}, Services: []core.Service{made}}}
	recorded.Grant.UID, recorded.Grant.VNIs = 1000, made.VNIs
	for _, test := range []struct {
		name  string
		spoil func(*core.Service)
		want  bool
	}{
		{"as recorded", func(*core.Service) {}, true},
		{"another id", func(s *core.Service) { s.ID = 8 }, false},
		{"another id where none is recorded", func(s *core.Service) { s.Device, s.ID = "cxi1", 8 }, true},
		{"a NIC that was not chosen", func(s *core.Service) { s.Device = "cxi2" }, false},
		{"another owner", func(s *core.Service) { s.Owner = core.UID(1001) }, false},
		{"a group of that number", func(s *core.Service) { s.Owner.Kind = core.OwnerGID }, false},
		{"another VNI", func(s *core.Service) { s.VNIs = []core.VNI{20, 22} }, false},
		{"a VNI less", func(s *core.Service) { s.VNIs = []core.VNI{20} }, false},
		{"the system's", func(s *core.Service) { s.System = true }, false},
		{"the default", func(s *core.Service) { s.Default = true }, false},
	} {
		s := made
		test.spoil(&s)
		if got := mine(recorded, &s); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// Without a record, a node confirms a run while no service has its VNIs, however the NIC shows that service. A data
// service's own on its server is the exception.
func TestConfirmedWithoutARecord(t *testing.T) {
	for _, test := range []struct {
		name    string
		service core.Service
		want    bool
	}{
		{"another VNI", core.Service{VNIs: []core.VNI{4035}}, true},
		{"a user's", core.Service{VNIs: []core.VNI{4034}}, false},
		{"shown as the system's", core.Service{VNIs: []core.VNI{4033, 4034}, System: true}, false},
		{"shown as the default", core.Service{VNIs: []core.VNI{4034}, Default: true}, false},
		{"the data service's", core.Service{VNIs: []core.VNI{4034, 4040}}, true},
	} {
		b := newBench(1)
		b.m.cfg.Served = func(vnis []core.VNI) bool { return slices.Contains(vnis, 4040) }
		test.service.Device, test.service.ID = "cxi0", 9
		b.nics.services = append(b.nics.services, test.service)
		b.step(Linked{Up: true})
		clean := core.Clean{Run: core.Run{Key: job("7", 0)}, VNIs: []core.VNI{4034}}
		b.step(Ordered{core.Orders{Clean: []core.Clean{clean}}})
		b.pass(time.Minute)
		if got := lastHeld(b).State == core.HeldClean; got != test.want {
			t.Errorf("%s: confirmed is %v, want %v", test.name, got, test.want)
		}
	}
}

// A clean-up is answered when the last of the generations is clean, not the first.
func TestCleanUpOfTwoGenerations(t *testing.T) {
	b := newBench(1)
	b.grant = func(r Reserve) (core.Grant, *core.Error) { return grantOf(r, 100+core.VNI(r.Ask.Key.Generation)), nil }
	b.prepare(job("7", 0), 1000, 10)
	b.prepare(job("7", 1), 1000, 11)
	b.nics.busy["cxi0/4"] = true
	c := b.cleanUp(job("7", 1), 20)
	if o, answered := b.replies[c]; answered {
		t.Errorf("answered %+v while one is busy", o)
	}
	b.wantPhases(t, Clean, Cleaning)
	clear(b.nics.busy)
	b.pass(time.Second)
	b.wantErr(t, c, "")
	b.wantPhases(t, Clean, Clean)
}

// TestServiceOfAReturnedNICIsNotJudgedYet: a reading amid a clean-up shows a NIC again, and a service on it that no
// record explains. Weft believes the service in the next reading, and calls the NIC blind until then.
func TestServiceOfAReturnedNICIsNotJudgedYet(t *testing.T) {
	b := newBench(2)
	away := b.nics.devices[1]
	b.nics.services = append(b.nics.services, core.Service{Device: "cxi1", ID: 9, VNIs: []core.VNI{7}})
	b.step(Linked{Up: true})
	b.nics.devices = b.nics.devices[:1]
	b.pass(61 * time.Second)
	b.prepare(job("7", 0), 1000, 10)
	b.hold = func(a Action) bool { _, ok := a.(Look); return ok }
	b.nics.devices = append(b.nics.devices, away)
	b.pass(sweepAmiss)
	old := b.nics.reading(b.held[0].(Look).Attempt)
	b.hold, b.held = nil, nil
	b.cleanUp(job("7", 0), 20)
	b.step(old)
	for _, a := range all[Tell](b) {
		r := a.Report
		whole := slices.Contains(r.Devices, "cxi1") && !slices.Contains(r.Blind, "cxi1")
		if (r.Full || r.Changed) && whole && len(r.Unknown) != 1 {
			t.Errorf("the server would take the service for gone: %+v", r)
		}
	}
	if r := b.told(t); len(r.Blind) > 0 || len(r.Unknown) != 1 {
		t.Errorf("the last report: %+v", r)
	}
}
