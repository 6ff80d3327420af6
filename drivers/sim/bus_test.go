package sim_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
	"github.com/weft-hpc/weft/hook/rundir"
)

// bubbles runs a test on both backends under a clock that does not wait.
func bubbles(t *testing.T, test func(t *testing.T, d *sim.Driver)) {
	backends(t, func(t *testing.T, o sim.Options) {
		synctest.Test(t, func(t *testing.T) { test(t, sim.New(o)) })
	})
}

func names(t *testing.T, d *sim.Driver) (out []string) {
	t.Helper()
	devices, err := d.Devices(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, dev := range devices {
		out = append(out, fmt.Sprintf("%s at %d", dev.Name, dev.Address))
	}
	return out
}

// held is an application of uid 1000 on a service.
func held(t *testing.T, d *sim.Driver, s core.Service) *sim.LNI {
	t.Helper()
	l, err := d.Open(t.Context(), s.Device, s.ID, kernel.Caller{EUID: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestSign: a sign holds until its NIC is probed again, whatever its services are, and every user can look it up.
func TestSign(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "nics")
	d := sim.New(sim.Options{Dir: dir, NICs: 2})
	read := func() (signs []core.Sign) {
		t.Helper()
		devices, err := d.Devices(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range devices {
			signs = append(signs, devices[i].Sign)
		}
		return signs
	}
	first := read()
	for path := filepath.Dir(first[0].Path); path != filepath.Dir(dir); path = filepath.Dir(path) {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o711 {
			t.Errorf("%s: users cannot look up what lies in it: %v", path, err)
		}
	}
	create(t, d, spec("cxi1", 1000, 100))
	if !rundir.Hold(first) || !cmp.Equal(first, read()) {
		t.Errorf("a service was made: %v, and before %v", read(), first)
	}
	other := sim.At(dir) // `weft sim fault`
	set(t, other, sim.Fault{Kind: sim.Vanish, Device: "cxi1"})
	if !rundir.Hold(first[:1]) || rundir.Hold(first[1:]) {
		t.Error("one NIC was removed")
	}
	if err := other.ClearFaults(t.Context(), sim.Vanish, "cxi1"); err != nil {
		t.Fatal(err)
	}
	second := read()
	if !rundir.Hold(second) || len(second) != 2 {
		t.Errorf("the NIC is back: %v", second)
	}
	set(t, other, sim.Fault{Kind: sim.Reload})
	if rundir.Hold(second[:1]) || rundir.Hold(second[1:]) || !rundir.Hold(read()) {
		t.Error("the driver was loaded again")
	}
}

// TestVanish is a hot removal: cass_remove and cass_probe in cass_core.c of SHS 12.0 to 14.0.1.
func TestVanish(t *testing.T) {
	bubbles(t, func(t *testing.T, d *sim.Driver) {
		s := create(t, d, spec("cxi1", 1000, 100))
		old := held(t, d, s)
		set(t, d, sim.Fault{Kind: sim.Vanish, Device: "cxi1", For: time.Minute})
		if diff := cmp.Diff([]string{"cxi0 at 0"}, names(t, d)); diff != "" {
			t.Error(diff)
		}
		if n := len(jobs(t, d)); n != 0 {
			t.Errorf("%d services of a NIC that is not there", n)
		}
		if err := destroy(t, d, s); core.AsError(err).Reason != core.NICMissing {
			t.Errorf("%v: nothing is known to be gone from a NIC that is not there", err)
		}
		time.Sleep(time.Minute)
		if diff := cmp.Diff([]string{"cxi0 at 0", "cxi2 at 1"}, names(t, d)); diff != "" {
			t.Error("when it is back it has the next number, and its address:", diff)
		}
		if left := jobs(t, d); len(left) != 0 {
			t.Errorf("when it is back: %v", left)
		}
		again := create(t, d, spec("cxi2", 1000, 100))
		if again.ID != s.ID {
			t.Errorf("id %d: want %d again", again.ID, s.ID)
		}
		if err := destroy(t, d, again); err != nil {
			t.Errorf("an application of the NIC before holds it: %v", err)
		}
		if err := old.Close(); err != nil {
			t.Error(err)
		}
		set(t, d, sim.Fault{Kind: sim.Vanish})
		if err := d.ClearFaults(t.Context(), sim.Vanish, ""); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"cxi3 at 0", "cxi4 at 1"}, names(t, d)); diff != "" {
			t.Error("all of them:", diff)
		}
	})
}

// TestReload loads the driver again in one boot: every service ends (cass_remove in cass_core.c of SHS 12.0 to 14.0.1),
// and the counter of names restarts (cxi_core.c).
func TestReload(t *testing.T) {
	bubbles(t, func(t *testing.T, d *sim.Driver) {
		set(t, d, sim.Fault{Kind: sim.Vanish, Device: "cxi1", For: time.Second})
		time.Sleep(time.Second)
		s := create(t, d, spec("cxi0", 1000, 100))
		old := held(t, d, s)
		set(t, d, sim.Fault{Kind: sim.Busy})
		set(t, d, sim.Fault{Kind: sim.Reload})
		if diff := cmp.Diff([]string{"cxi0 at 0", "cxi1 at 1"}, names(t, d)); diff != "" {
			t.Error("names restart:", diff)
		}
		all, err := d.Services(t.Context())
		if err != nil || len(all) != 6 || all[1].ID != 2 || !all[1].System || all[2].ID != 3 || !all[2].System {
			t.Errorf("%v, %v: want three services of the system's on each NIC", err, all)
		}
		if fs, err := d.Faults(t.Context()); err != nil || len(fs) != 0 {
			t.Errorf("%v, %v: what was busy is gone, and a reload does not last", fs, err)
		}
		again := create(t, d, spec("cxi0", 1000, 100))
		if again.ID != s.ID {
			t.Errorf("id %d: want %d again", again.ID, s.ID)
		}
		if err := destroy(t, d, again); err != nil {
			t.Errorf("an application of the driver before holds it: %v", err)
		}
		again = create(t, d, spec("cxi0", 1000, 100))
		young := held(t, d, again)
		if err := old.Close(); err != nil {
			t.Error(err)
		}
		if err := destroy(t, d, again); !errors.Is(err, core.Busy) {
			t.Errorf("%v: want Busy: the end of an application of the driver before frees nothing", err)
		}
		if err := young.Close(); err != nil {
			t.Error(err)
		}
		if err := destroy(t, d, again); err != nil {
			t.Error(err)
		}
	})
}

// TestReloadIsSeen: a driver that runs sees what another process does to its NICs, and it stays so.
func TestReloadIsSeen(t *testing.T) {
	o := sim.Options{Dir: t.TempDir(), NICs: 2, Boot: "b1"}
	d, outside := sim.New(o), sim.At(o.Dir)
	create(t, d, spec("cxi1", 1000, 100))
	set(t, outside, sim.Fault{Kind: sim.Vanish, Device: "cxi0"})
	if err := outside.ClearFaults(t.Context(), sim.Vanish, ""); err != nil {
		t.Fatal(err)
	}
	o.NICs = 3
	for _, d := range []*sim.Driver{d, outside, sim.New(o), sim.New(o)} {
		if diff := cmp.Diff([]string{"cxi2 at 0", "cxi1 at 1"}, names(t, d)[:2]); diff != "" {
			t.Error(diff)
		}
	}
	if got := names(t, sim.New(o))[2:]; !cmp.Equal(got, []string{"cxi3 at 2"}) {
		t.Errorf("a NIC more is %v: want the next number", got)
	}
	faults := filepath.Join(o.Dir, "faults")
	if err := os.WriteFile(faults, []byte(`[{"kind":"vanish","device":"cxi1"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"cxi2 at 0"}, names(t, d)); diff != "" {
		t.Error("a fault that was written by hand:", diff)
	}
	if err := os.Remove(faults); err != nil {
		t.Fatal(err)
	}
	for _, d := range []*sim.Driver{d, sim.New(o)} {
		if diff := cmp.Diff([]string{"cxi2 at 0", "cxi4 at 1"}, names(t, d)[:2]); diff != "" {
			t.Error(diff)
		}
	}
	set(t, outside, sim.Fault{Kind: sim.Reload})
	if left := jobs(t, d); len(left) != 0 {
		t.Errorf("after a reload: %v", left)
	}
	o.Boot = "b2"
	if diff := cmp.Diff([]string{"cxi0 at 0", "cxi1 at 1", "cxi2 at 2"}, names(t, sim.New(o))); diff != "" {
		t.Error("after a reboot:", diff)
	}
}
