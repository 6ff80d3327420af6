package sim_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim"
)

func set(t *testing.T, d *sim.Driver, f sim.Fault) {
	t.Helper()
	if err := d.SetFault(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// TestLatency: calls to one NIC follow each other, NICs work beside each other, and a slow one stops no other.
func TestLatency(t *testing.T) {
	bubbles(t, func(t *testing.T, d *sim.Driver) {
		set(t, d, sim.Fault{Kind: sim.Latency, Device: "cxi1", Call: sim.CallCreate, Delay: 100 * time.Millisecond})
		start := time.Now()
		create(t, d, spec("cxi0", 1000, 1000))
		if took := time.Since(start); took != 0 {
			t.Errorf("a NIC without the fault took %v", took)
		}
		made, err := d.Create(t.Context(), []core.ServiceSpec{spec("cxi1", 1, 2000), spec("cxi0", 1, 2000), spec("cxi1", 1, 2001)})
		if err != nil || made[0].Err != nil || made[1].Err != nil || made[2].Err != nil {
			t.Fatal(err, made)
		}
		if took := time.Since(start); took != 200*time.Millisecond {
			t.Errorf("two calls to the slow NIC took %v, want 200ms", took)
		}
		if made[0].Service.ID != 4 || made[2].Service.ID != 5 {
			t.Errorf("ids %d and %d: calls to one NIC keep their order", made[0].Service.ID, made[2].Service.ID)
		}

		start = time.Now()
		done := make(chan error)
		go func() {
			_, err := d.Create(t.Context(), []core.ServiceSpec{spec("cxi1", 1, 3000)})
			done <- err
		}()
		synctest.Wait()
		create(t, d, spec("cxi0", 1, 3000))
		if took := time.Since(start); took != 0 {
			t.Errorf("a call beside a slow one took %v", took)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestConfiguredLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := sim.New(sim.Options{NICs: 4, Latency: 5 * time.Millisecond})
		start := time.Now()
		if _, err := d.Services(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != 5*time.Millisecond {
			t.Errorf("four NICs took %v, want 5ms: they work beside each other", took)
		}
	})
}

func TestBusy(t *testing.T) {
	bubbles(t, func(t *testing.T, d *sim.Driver) {
		s := create(t, d, spec("cxi0", 1000, 4034))
		set(t, d, sim.Fault{Kind: sim.Busy, Device: "cxi0", For: 30 * time.Second})
		start := time.Now()
		if err := destroy(t, d, s); !errors.Is(err, core.Busy) || time.Since(start) != 0 {
			t.Errorf("%v after %v: want Busy at once", err, time.Since(start))
		}
		gone := s
		gone.ID = 9
		if err := destroy(t, d, gone); err != nil {
			t.Errorf("a service that is gone is not busy: %v", err)
		}
		other := create(t, d, spec("cxi1", 1000, 4034))
		if err := destroy(t, d, other); err != nil {
			t.Errorf("on another NIC: %v", err)
		}
		time.Sleep(30*time.Second - time.Nanosecond)
		if err := destroy(t, d, s); !errors.Is(err, core.Busy) {
			t.Errorf("just before its end: %v, want Busy", err)
		}
		time.Sleep(time.Nanosecond)
		if err := destroy(t, d, s); err != nil {
			t.Errorf("after it: %v", err)
		}
		if fs, err := d.Faults(t.Context()); err != nil || len(fs) != 0 {
			t.Errorf("faults that are over: %v, %v", fs, err)
		}
	})
}

func TestNthCallFails(t *testing.T) {
	bubbles(t, func(t *testing.T, d *sim.Driver) {
		set(t, d, sim.Fault{Kind: sim.Fail, Device: "cxi1", Call: sim.CallCreate, Nth: 2})
		batch := func(vni core.VNI) (failed []int) {
			made, err := d.Create(t.Context(), []core.ServiceSpec{spec("cxi0", 1, vni), spec("cxi1", 1, vni)})
			if err != nil {
				t.Fatal(err)
			}
			for i := range made {
				if made[i].Err != nil {
					if e := core.AsError(made[i].Err); e.Reason != core.NICFailed || !strings.Contains(e.What, "EIO") {
						t.Errorf("%v: want NICFailed for EIO", e)
					}
					failed = append(failed, i)
				}
			}
			return failed
		}
		var got [][]int
		for vni := range core.VNI(3) {
			got = append(got, batch(100+vni))
		}
		if diff := cmp.Diff([][]int{nil, {1}, nil}, got); diff != "" {
			t.Error("only the second creation on cxi1 fails:", diff)
		}
		if n := len(jobs(t, d)); n != 5 {
			t.Errorf("%d services: nothing is rolled back, nothing made by a failed call", n)
		}
	})
}

// TestHang: the NICs that work are answered for before the deadline, so that what was made is known.
func TestHang(t *testing.T) {
	bubbles(t, func(t *testing.T, d *sim.Driver) {
		set(t, d, sim.Fault{Kind: sim.Hang, Device: "cxi0"})
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		start := time.Now()
		made, err := d.Create(ctx, []core.ServiceSpec{spec("cxi0", 1, 100), spec("cxi1", 1, 100)})
		if err != nil || made[1].Err != nil || core.AsError(made[0].Err).Reason != core.NICFailed {
			t.Errorf("%v, %v: want cxi1's service and NICFailed for cxi0", err, made)
		}
		if took := time.Since(start); took != 1900*time.Millisecond {
			t.Errorf("it took %v of the caller's 2s: want 1.9s", took)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		devices, err := d.Devices(ctx)
		if err != nil || len(devices) != 2 || devices[0].Fault == "" || devices[1].Fault != "" {
			t.Errorf("%v, %v: want both, cxi0 with its fault", devices, err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if all, err := d.Services(ctx); core.AsError(err).Reason != core.NICFailed || len(all) != 4 {
			t.Errorf("%d services, %v: an unread NIC must not look clean", len(all), err)
		}
		// without a deadline it lasts until the caller gives up
		free, giveUp := context.WithCancel(t.Context())
		time.AfterFunc(time.Hour, giveUp)
		made, err = d.Create(free, []core.ServiceSpec{spec("cxi0", 1, 200)})
		if err != nil || core.AsError(made[0].Err).Reason != core.Cancelled {
			t.Errorf("%v, %v: want Cancelled, which drains no node", err, made)
		}
		if err := d.ClearFaults(t.Context(), "", ""); err != nil {
			t.Fatal(err)
		}
		if n := len(jobs(t, d)); n != 1 {
			t.Errorf("%d services: a call that hangs has done nothing", n)
		}
	})
}

func TestLink(t *testing.T) {
	bubbles(t, func(t *testing.T, d *sim.Driver) {
		for _, f := range []sim.Fault{{Kind: sim.LinkDown, Device: "cxi0"}, {Kind: sim.NoRetry, Device: "cxi1"}, {Kind: sim.Open}, {Kind: sim.Profile, Device: "cxi0"}, {Kind: sim.NoRGIDs, Device: "cxi1"}} {
			set(t, d, f)
		}
		devices, err := d.Devices(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		type shown struct {
			Up, Retry, Open bool
			Classes         core.Classes
			RGIDs           uint16
		}
		var got []shown
		for _, dev := range devices {
			got = append(got, shown{dev.Up, dev.Retry, dev.Open, dev.Classes, dev.RGIDs.Free})
		}
		if diff := cmp.Diff([]shown{{false, true, true, core.BestEffort, 253}, {true, false, true, core.AllClasses, 0}}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// TestNetDown: hw_setup and hw_cleanup in cxi_eth_ops.c of SHS 12.0 to 14.0.1.
func TestNetDown(t *testing.T) {
	bubbles(t, func(t *testing.T, d *sim.Driver) {
		system := func() (ids []uint32) {
			all, err := d.Services(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range all {
				if s.Device == "cxi0" && s.System {
					ids = append(ids, s.ID)
				}
			}
			return ids
		}
		set(t, d, sim.Fault{Kind: sim.NetDown, Device: "cxi0", For: time.Minute})
		if diff := cmp.Diff([]uint32{3}, system()); diff != "" {
			t.Error("the retry handler's service stays:", diff)
		}
		if devices, err := d.Devices(t.Context()); err != nil || devices[0].Up || !devices[1].Up {
			t.Errorf("%v, %+v: want no link on cxi0", err, devices)
		}
		if s := create(t, d, spec("cxi0", 1000, 100)); s.ID != 2 {
			t.Errorf("a job's service is %d: want the free 2", s.ID)
		}
		time.Sleep(time.Minute)
		if diff := cmp.Diff([]uint32{3, 4}, system()); diff != "" {
			t.Error("once it is up again:", diff)
		}
	})
}

func TestFaultIsChecked(t *testing.T) {
	d := sim.New(sim.Options{})
	for _, f := range []sim.Fault{
		{}, {Kind: "fire"}, {Kind: sim.Busy, Device: "eth0"}, {Kind: sim.Busy, Device: "cxi01"}, {Kind: sim.Reload, Device: "cxi0"}, {Kind: sim.Reload, For: 1}, {Kind: sim.Hang, Call: "sing"},
		{Kind: sim.Latency}, {Kind: sim.Fail}, {Kind: sim.Busy, For: -1},
	} {
		if err := d.SetFault(t.Context(), f); !errors.Is(err, core.Invalid) {
			t.Errorf("%+v: %v, want Invalid", f, err)
		}
	}
	set(t, d, sim.Fault{Kind: sim.Latency, Delay: time.Second})
	set(t, d, sim.Fault{Kind: sim.Latency, Delay: time.Minute})
	fs, _ := d.Faults(t.Context())
	if diff := cmp.Diff([]sim.Fault{{Kind: sim.Latency, Delay: time.Minute}}, fs); diff != "" {
		t.Error("a fault takes the place of the one before:", diff)
	}
}
