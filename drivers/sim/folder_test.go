package sim_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

func TestServicesOutliveTheProcess(t *testing.T) {
	dir := t.TempDir()
	o := sim.Options{Dir: dir, NICs: 2, Boot: "b1"}
	s := create(t, sim.New(o), spec("cxi0", 1000, 4034))
	if diff := cmp.Diff([]core.Service{s}, jobs(t, sim.New(o))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]core.Service{s}, jobs(t, sim.At(dir))); diff != "" {
		t.Error("seen from another process:", diff)
	}
	set(t, sim.New(o), sim.Fault{Kind: sim.Busy})
	set(t, sim.New(o), sim.Fault{Kind: sim.LinkDown})
	o.Boot = "b2"
	if left := jobs(t, sim.New(o)); len(left) != 0 {
		t.Errorf("after a reboot: %v", left)
	}
	if fs, _ := sim.New(o).Faults(t.Context()); len(fs) != 1 || fs[0].Kind != sim.LinkDown {
		t.Errorf("faults after a reboot: %v: what was busy is gone, a broken link is not", fs)
	}
	o.NICs = 3
	if devices, err := sim.New(o).Devices(t.Context()); err != nil || len(devices) != 3 {
		t.Errorf("a NIC more: %v, %v", devices, err)
	}
}

// TestAtWrites: what another process does through At is the node's, and no reboot.
func TestAtWrites(t *testing.T) {
	o := sim.Options{Dir: t.TempDir(), NICs: 2, Boot: "b1"}
	d := sim.New(o)
	first := create(t, d, spec("cxi0", 1, 100))
	second := create(t, sim.At(o.Dir), spec("cxi1", 1, 100))
	for _, d := range []*sim.Driver{d, sim.New(o)} {
		if diff := cmp.Diff([]core.Service{first, second}, jobs(t, d)); diff != "" {
			t.Error(diff)
		}
	}
	if devices, err := sim.At(o.Dir).Devices(t.Context()); err != nil || len(devices) != 2 {
		t.Errorf("%v, %v: want the node's two NICs", devices, err)
	}
}

// TestStateMovedAway: a driver that runs begins anew, also on disk.
func TestStateMovedAway(t *testing.T) {
	o := sim.Options{Dir: t.TempDir(), NICs: 1, Boot: "b1"}
	d := sim.New(o)
	for range 2 {
		if left := jobs(t, d); len(left) != 0 {
			t.Errorf("it still has %v", left)
		}
		if _, err := sim.At(o.Dir).Services(t.Context()); err != nil {
			t.Error(err)
		}
		if err := os.Remove(filepath.Join(o.Dir, "state")); err != nil {
			t.Fatal(err)
		}
	}
	create(t, d, spec("cxi0", 1, 100))
}

func TestNoFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	if err := sim.At(dir).SetFault(t.Context(), sim.Fault{Kind: sim.Hang}); !errors.Is(err, core.NotFound) {
		t.Errorf("%v: want NotFound", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("it was made")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := sim.Hold(t.Context(), dir, "cxi0", 4, 1, nil); !errors.Is(err, core.NotFound) {
		t.Errorf("%v: want NotFound", err)
	}
}

// TestFaultFromAnotherProcess: a driver that runs sees what is set through the folder at its next call.
func TestFaultFromAnotherProcess(t *testing.T) {
	o := sim.Options{Dir: t.TempDir(), NICs: 1, Boot: "b1"}
	d := sim.New(o)
	s := create(t, d, spec("cxi0", 1000, 4034))
	if err := sim.At(o.Dir).SetFault(t.Context(), sim.Fault{Kind: sim.Busy, For: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if err := destroy(t, d, s); !errors.Is(err, core.Busy) {
		t.Errorf("%v, want Busy", err)
	}
	if err := sim.At(o.Dir).ClearFaults(t.Context(), "", ""); err != nil {
		t.Fatal(err)
	}
	if err := destroy(t, d, s); err != nil {
		t.Error(err)
	}
}

// TestTwoDriversOnOneFolder: each sees the other's services, no id is given twice.
func TestTwoDriversOnOneFolder(t *testing.T) {
	o := sim.Options{Dir: t.TempDir(), NICs: 1, Boot: "b1", NoSync: true}
	drivers := []*sim.Driver{sim.New(o), sim.New(o)}
	const each = 20
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			d := drivers[i%2]
			for j := range each {
				s := spec("cxi0", uint32(1000+i), core.VNI(100*(i+1)+j))
				s.Limits = core.Limits{core.TXQ: {Max: 1, Reserved: 1}}
				made, err := d.Create(t.Context(), []core.ServiceSpec{s})
				if err != nil || made[0].Err != nil {
					t.Error(err, made)
					return
				}
				if j%2 == 0 {
					if errs, err := d.Destroy(t.Context(), []core.Service{made[0].Service}); err != nil || errs[0] != nil {
						t.Error(err, errs)
					}
				}
			}
		})
	}
	all.Wait()
	got := jobs(t, drivers[0])
	if diff := cmp.Diff(got, jobs(t, drivers[1])); diff != "" {
		t.Error("the two see different services:", diff)
	}
	ids := map[uint32]bool{}
	for _, s := range got {
		ids[s.ID] = true
	}
	if len(got) != 4*each/2 || len(ids) != len(got) {
		t.Errorf("%d services with %d ids, want %d", len(got), len(ids), 4*each/2)
	}
}

// TestLockHeld: a call that waits for the folder keeps to its deadline.
func TestLockHeld(t *testing.T) {
	o := sim.Options{Dir: t.TempDir(), NICs: 1, Boot: "b1"}
	create(t, sim.New(o), spec("cxi0", 1, 100))
	lock, err := os.Open(filepath.Join(o.Dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		d := sim.New(o)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if _, err := d.Devices(ctx); core.AsError(err).Reason != core.TimedOut || time.Since(start) != time.Second {
			t.Errorf("%v after %v, want TimedOut after 1s", err, time.Since(start))
		}
		time.AfterFunc(time.Second, func() { unix.Flock(int(lock.Fd()), unix.LOCK_UN) })
		if n := len(jobs(t, d)); n != 1 {
			t.Errorf("%d services once the lock is free", n)
		}
	})
}

// TestCrashWhileWriting: what a crash leaves of the new state changes nothing, whatever it is.
func TestCrashWhileWriting(t *testing.T) {
	o := sim.Options{Dir: t.TempDir(), NICs: 1, Boot: "b1"}
	s := create(t, sim.New(o), spec("cxi0", 1, 100))
	for _, left := range []string{"", "{\"version\":", strings.Repeat("x", 1<<16)} {
		for _, name := range []string{".state.weft-1", ".faults.weft-1"} {
			if err := os.WriteFile(filepath.Join(o.Dir, name), []byte(left), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		d := sim.New(o)
		if diff := cmp.Diff([]core.Service{s}, jobs(t, d)); diff != "" {
			t.Error(diff)
		}
		again := create(t, d, spec("cxi0", 1, 101))
		set(t, d, sim.Fault{Kind: sim.LinkDown})
		if err := destroy(t, sim.New(o), again); err != nil {
			t.Error(err)
		}
	}
}

func TestSpoiledFolder(t *testing.T) {
	for name, c := range map[string]struct{ file, content, want string }{
		"not JSON":        {"state", "\x00\x00\x00", "state"},
		"cut short":       {"state", `{"version":1,"boot":"b1","nics":[[`, "state"},
		"newer":           {"state", `{"version":2,"boot":"b1","nics":[]}`, "version 2"},
		"unknown field":   {"state", `{"version":1,"boot":"b1","nics":[],"x":1}`, "unknown field"},
		"trailing":        {"state", `{"version":1,"boot":"b1","nics":[]}{}`, "follows"},
		"17 NICs":         {"state", `{"version":1,"boot":"b1","nics":[` + strings.Repeat("[],", 16) + `[]]}`, "17 NICs"},
		"service twice":   {"state", `{"version":1,"boot":"b1","release":"14.0.1","nics":[[{"ID":5,"LPR":1,"TLEPool":-1},{"ID":5,"LPR":1,"TLEPool":-1}]]}`, "contradict"},
		"a name twice":    {"state", `{"version":1,"boot":"b1","release":"14.0.1","nics":[[],[]],"bus":{"loads":0,"next":2,"cards":[{"number":1},{"number":1}]}}`, "NIC 1 cannot be cxi1"},
		"a name too few":  {"state", `{"version":1,"boot":"b1","release":"14.0.1","nics":[[],[]],"bus":{"loads":0,"next":1,"cards":[{"number":0}]}}`, "it names 1 NICs and holds 2"},
		"a fault unknown": {"faults", `[{"kind":"fire"}]`, "no such kind"},
		"faults not JSON": {"faults", `hang`, "faults"},
	} {
		t.Run(name, func(t *testing.T) {
			o := sim.Options{Dir: t.TempDir(), NICs: 1, Boot: "b1"}
			create(t, sim.New(o), spec("cxi0", 1, 100))
			path := filepath.Join(o.Dir, c.file)
			if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := sim.New(o).Services(t.Context())
			if e := core.AsError(err); e == nil || e.Reason != core.NICFailed || !strings.Contains(e.What, c.want) {
				t.Errorf("%v: want NICFailed that says %q", err, c.want)
			}
			if now, _ := os.ReadFile(path); string(now) != c.content {
				t.Error("the file was changed")
			}
		})
	}
}

// TestUnwritableFolder: a state that cannot be written fails the call, and the service is not there afterwards.
func TestUnwritableFolder(t *testing.T) {
	o := sim.Options{Dir: t.TempDir(), NICs: 1, Boot: "b1"}
	d := sim.New(o)
	s := create(t, d, spec("cxi0", 1, 100))
	// At this path a name of the folder fits PATH_MAX, and that of a temporary file does not.
	deep := t.TempDir()
	for len(deep) < 4082 {
		deep += "/" + strings.Repeat("x", min(200, 4086-len(deep)))
	}
	err := os.MkdirAll(filepath.Dir(deep), 0o700)
	if err == nil {
		err = os.Rename(o.Dir, deep)
	}
	if err != nil {
		t.Fatal(err)
	}
	o.Dir = deep
	d = sim.New(o)
	if made, err := d.Create(t.Context(), []core.ServiceSpec{spec("cxi0", 1, 101)}); core.AsError(err).Reason != core.NICFailed || made != nil {
		t.Errorf("%v, %v: want NICFailed", made, err)
	}
	if diff := cmp.Diff([]core.Service{s}, jobs(t, d)); diff != "" {
		t.Error(diff)
	}
}

func start(t *testing.T, what, dir string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0], dir)
	cmd.Env = append(os.Environ(), helperVariable+"="+what)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// TestDeathFreesTheLNI: an application in another process holds a service until it is killed.
func TestDeathFreesTheLNI(t *testing.T) {
	o := sim.Options{Dir: t.TempDir(), NICs: 1, Boot: "b1"}
	d := sim.New(o)
	s := create(t, d, spec("cxi0", 1000, 4034))
	app, out := start(t, "hold", o.Dir)
	if !out.Scan() || out.Text() != "opened" {
		t.Fatalf("the application said %q", out.Text())
	}
	if err := destroy(t, d, s); !errors.Is(err, core.Busy) {
		t.Errorf("%v, want Busy", err)
	}
	if use := jobs(t, sim.New(o))[0].InUse[core.TXQ]; use != 1 {
		t.Errorf("%d TXQs in use as another driver sees it, want 1", use)
	}
	if err := app.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	app.Wait()
	if err := destroy(t, d, s); err != nil {
		t.Errorf("after its death: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Join(o.Dir, "lni")); len(left) != 0 {
		t.Errorf("files of the dead: %v", left)
	}
}

// TestKilledAnywhere: a driver's process is killed at random moments; what it said is true and the folder is whole.
func TestKilledAnywhere(t *testing.T) {
	for range 15 {
		o := sim.Options{Dir: t.TempDir(), NICs: 2, Boot: "b1"}
		proc, out := start(t, "churn", o.Dir)
		stop := 1 + rand.IntN(60)
		var made, gone core.VNI
		hear := func() {
			var said string
			var vni core.VNI
			if n, _ := fmt.Sscan(out.Text(), &said, &vni); n != 2 {
				t.Fatalf("it said %q", out.Text())
			}
			if said == "made" {
				made = vni
			} else {
				gone = vni
			}
		}
		for i := 0; i < stop && out.Scan(); i++ {
			hear()
		}
		for spin := rand.IntN(1 << 20); spin > 0; spin-- { // any moment of what follows, without a sleep
			runtime.KeepAlive(spin)
		}
		if err := proc.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for out.Scan() { // what it said before it died
			hear()
		}
		proc.Wait()
		count := map[core.VNI]int{}
		for _, s := range jobs(t, sim.New(o)) {
			count[s.VNIs[0]]++
		}
		if count[made] != 2 || gone != 0 && count[gone] != 0 {
			t.Fatalf("made %d, removed %d, and there is %v: what was said is not so", made, gone, count)
		}
		for vni, n := range count {
			if n != 2 || vni < made-1 || vni > made+1 {
				t.Fatalf("made %d, removed %d, and there is %v: a batch is there whole or not at all", made, gone, count)
			}
		}
	}
}

// TestAnotherRelease: another driver was loaded, which ends every service; who only looks sees the node as it stands.
func TestAnotherRelease(t *testing.T) {
	o := sim.Options{NICs: 1, Boot: "b1", Dir: t.TempDir(), NoSync: true, Release: &kernel.R130}
	create(t, sim.New(o), spec("cxi0", 1000, 4034))
	if got := jobs(t, sim.At(o.Dir)); len(got) != 1 {
		t.Errorf("seen from outside: %v", got)
	}
	if made, err := sim.At(o.Dir).Create(t.Context(), []core.ServiceSpec{spec("cxi0", 1001, 4034)}); err != nil || !errors.Is(made[0].Err, core.Conflict) {
		t.Errorf("%v, %v: with SHS 13.0 a VNI is one service's alone, from outside too", made, err)
	}
	if got := jobs(t, sim.New(o)); len(got) != 1 {
		t.Errorf("with the same release: %v", got)
	}
	o.Release = &kernel.R1401
	if got := jobs(t, sim.New(o)); len(got) != 0 {
		t.Errorf("with another release: %v: want none", got)
	}
}
