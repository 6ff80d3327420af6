package node

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
)

// probe has the driver begin with all NICs again: their services end, and ids restart at 1 (cass_remove and cass_probe
// in cass_core.c, SHS 12.0 to 14.0.1).
func (f *nics) probe(probed string) {
	f.services = slices.DeleteFunc(f.services, func(s core.Service) bool { return !s.System && !s.Default })
	for i := range f.devices {
		f.devices[i].Probed = probed
	}
}

// TestRestartedNIC: tasks of the job fail with the cause. The job is clean when its NIC, under any name, shows nothing.
func TestRestartedNIC(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(f *nics)
		says    string // to a task that begins; empty: it gets its environment
		clean   bool   // the job is clean after its end
	}{
		"the driver is loaded again": {func(f *nics) { f.probe("2") }, "or its driver was loaded again", true},
		"back under another name": {func(f *nics) {
			f.probe("2")
			f.devices[0].Name = "cxi7"
		}, "or its driver was loaded again", true},
		"names change places": {func(f *nics) {
			f.probe("2")
			f.devices[0].Bus, f.devices[1].Bus = f.devices[1].Bus, f.devices[0].Bus
		}, "or its driver was loaded again", true},
		"another NIC has its name": {func(f *nics) {
			f.probe("2")
			f.devices[0].Bus = "0000:99:00.0"
		}, "or its driver was loaded again", false},
		"gone": {func(f *nics) { f.devices = f.devices[1:] }, "NIC cxi0 is not there", false},
		"at fault": {func(f *nics) {
			f.devices[0].Fault = "EIO"
			f.services = slices.DeleteFunc(f.services, func(s core.Service) bool { return s.Device == "cxi0" })
		}, "", false},
		"at fault after a restart": {func(f *nics) {
			f.devices[0].Fault, f.devices[0].Probed = "EIO", "2"
			f.services = slices.DeleteFunc(f.services, func(s core.Service) bool { return s.Device == "cxi0" })
		}, "or its driver was loaded again", false},
		"a hand removes the services": {func(f *nics) { probed := f.devices[0].Probed; f.probe(probed) },
			"a person or another program removed it", true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(2)
			b.nics.devices[0].Bus, b.nics.devices[1].Bus = "0000:01:00.0", "0000:02:00.0"
			b.nics.probe("1")
			b.step(Linked{Up: true})
			b.wantErr(t, b.prepare(job("7", 0), 1000, 10), "")
			b.pass(time.Minute)
			if count[Withdraw](b) != 0 {
				t.Fatal("the job's file went before anything happened")
			}
			c.happens(b.nics)
			b.pass(time.Minute)
			ask := core.Intent{Action: core.Environment, Key: job("7", 0)}
			b.step(Hook{Call: 99, Ask: ask, Peer: core.Peer{UID: 1000}, Until: b.now + time.Second})
			replies := all[Reply](b)
			err := replies[len(replies)-1].Outcome.Err
			if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.What, c.says)) {
				t.Errorf("a task is told %v, want %q", err, c.says)
			}
			if withdrawn := count[Withdraw](b) > 0; withdrawn != (c.says != "") {
				t.Errorf("the job's file is withdrawn: %t", withdrawn)
			}
			b.cleanUp(job("7", 0), 20)
			b.pass(time.Minute)
			if got := b.m.Entries()[0].State; (got == Clean) != c.clean {
				t.Errorf("the job is %v: %+v", got, b.m.Stuck())
			}
		})
	}
}

// TestPlace: a record of an earlier release has no address, and a driver may show none.
func TestPlace(t *testing.T) {
	for _, c := range []struct {
		place      Place
		device     core.Device
		now, began bool
	}{
		{Place{Device: "cxi0", Bus: "01", Probed: "1"}, core.Device{Name: "cxi7", Bus: "01", Probed: "2"}, true, true},
		{Place{Device: "cxi0", Bus: "01", Probed: "1"}, core.Device{Name: "cxi0", Bus: "02", Probed: "1"}, false, false},
		{Place{Device: "cxi0"}, core.Device{Name: "cxi0", Bus: "01", Probed: "1"}, true, false},
		{Place{Device: "cxi0", Bus: "01", Probed: "1"}, core.Device{Name: "cxi0"}, true, false},
		{Place{Device: "cxi0"}, core.Device{Name: "cxi7", Bus: "01"}, false, false},
	} {
		if now := c.place.now([]core.Device{c.device}) != nil; now != c.now || c.place.began(&c.device) != c.began {
			t.Errorf("%+v is %+v: %v, want %v", c.place, c.device, now, c.now)
		}
	}
}

// TestNICIsBack: a NIC that was away for a while brings the job's tasks back, where its service stands. It does not
// after the job's end.
func TestNICIsBack(t *testing.T) {
	b := newBench(2)
	b.step(Linked{Up: true})
	b.wantErr(t, b.prepare(job("7", 0), 1000, 10), "")
	was := b.nics.devices
	b.nics.devices = was[1:]
	b.pass(time.Minute)
	b.nics.devices = was
	b.pass(time.Minute)
	if count[Withdraw](b) != 1 || count[Publish](b) != 2 {
		t.Errorf("withdrawn %d times, left %d times", count[Withdraw](b), count[Publish](b))
	}
	b.nics.devices = was[1:]
	b.pass(time.Minute)
	b.cleanUp(job("7", 0), 20)
	b.nics.devices = was
	b.pass(time.Minute)
	if count[Publish](b) != 2 {
		t.Errorf("left %d times", count[Publish](b))
	}
}

// TestIDOfBefore: after a restart of the NIC a service of another job gets the id of the old one, and stays.
func TestIDOfBefore(t *testing.T) {
	b := newBench(1)
	b.nics.devices[0].Bus = "0000:01:00.0"
	b.nics.probe("1")
	b.grant = func(r Reserve) (core.Grant, *core.Error) { return grantOf(r, 100+core.VNI(r.Ask.Key.Job[0])), nil }
	b.step(Linked{Up: true})
	b.wantErr(t, b.prepare(job("1", 0), 1000, 10), "")
	id := b.m.Entries()[0].Services[0].ID
	b.nics.probe("2")
	b.wantErr(t, b.prepare(job("2", 0), 1000, 10), "")
	if got := b.m.Entries()[1].Services[0].ID; got != id {
		t.Fatalf("the new service has id %d, and the old one had %d", got, id)
	}
	b.cleanUp(job("1", 0), 20)
	b.wantPhases(t, Clean, Ready)
	if !slices.ContainsFunc(b.nics.services, b.m.Entries()[1].Services[0].Same) {
		t.Error("the clean-up of one job removed the other's service")
	}
}

// TestRestartAmidAPrepare: the node makes the lost services again, and blames no NIC.
func TestRestartAmidAPrepare(t *testing.T) {
	for name, before := range map[string]func(Action) bool{
		"before a reading":      func(a Action) bool { _, is := a.(Look); return is },
		"before a service made": func(a Action) bool { _, is := a.(Create); return is },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(2)
			b.nics.probe("0")
			restarts := 0
			b.hold = func(a Action) bool {
				if before(a) && restarts < 3 {
					restarts++
					b.nics.probe(strconv.Itoa(restarts))
				}
				return false
			}
			b.wantErr(t, b.prepare(job("7", 0), 1000, 10), "")
			b.pass(time.Minute)
			if restarts == 0 || len(b.ours()) != 2 || count[Drain](b) > 0 || count[Withdraw](b) > 0 {
				t.Errorf("after %d restarts: %+v, drained %d times", restarts, b.ours(), count[Drain](b))
			}
		})
	}
}
