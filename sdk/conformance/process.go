package conformance

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/weft-hpc/weft/core"
)

var processCases = []Case{
	{"it shakes hands in one line, on a socket in the folder that it was given", "P1", OfProcess, func(t *T) {
		parts := strings.Split(t.Process.Handshake, "|")
		if len(parts) < 5 || parts[0] != "1" || parts[1] != "1" || parts[2] != "unix" || parts[4] != "grpc" {
			t.Fatalf("its handshake is %q, want 1|1|unix|SOCKET|grpc", t.Process.Handshake)
		}
		if filepath.Dir(parts[3]) != t.Process.Folder {
			t.Errorf("its socket is %s, and PLUGIN_UNIX_SOCKET_DIR is %s", parts[3], t.Process.Folder)
		}
	}},
	{"it takes messages of nearly 64 MiB", "P2", OfProcess, func(t *T) {
		t.should(t.Process.Large(t.ctx, 63<<20), "a request of 63 MiB")
	}},
	{"it ends when its standard input ends", "P3", OfProcess, func(t *T) {
		p := t.bare()
		p.Hang()
		if most := 10 * time.Second; !within(p.Done, most) {
			t.Errorf("it lives on for %s, and its standard input has ended", most)
		}
	}},
	{"it stays at SIGINT, SIGTERM and SIGHUP", "P4", OfProcess, func(t *T) {
		p := t.bare()
		for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
			t.should(p.Signal(s), "signal %v", s)
		}
		for range 5 { // a signal is handled when it can be, not when it is sent
			_, err := p.Info(t.ctx)
			if err != nil || within(p.Done, 50*time.Millisecond) {
				t.Fatalf("it is gone after SIGINT, SIGTERM and SIGHUP: %v", err)
			}
		}
	}},
	{"it names itself before it is configured", "P5", OfProcess, func(t *T) {
		info, err := t.bare().Info(t.ctx)
		t.must(err, "Info")
		t.should(core.CheckName("name", info.Name, core.MaxScheduler), "Info")
		if info.Version == "" || len(info.Services) == 0 {
			t.Errorf("Info: version %q, services %q", info.Version, info.Services)
		}
		for _, verb := range []core.SchedulerVerb{core.CallDescribe, core.CallFail, core.CallDrain} {
			if t.Scheduler != nil && !t.Scheduler.Has(verb) {
				t.Errorf("Info: abilities %q lack %s, which every scheduler's adapter has", info.Abilities, verb)
			}
		}
		if info.Kind != "driver" && info.Kind != "fabric" && info.Kind != "scheduler" {
			t.Errorf("Info: kind %q is none of driver, fabric, scheduler", info.Kind)
		}
	}},
	{"it answers Health within 2 s, however busy it is", "P6", OfProcess, func(t *T) {
		busy, stop := context.WithCancel(t.ctx)
		var all sync.WaitGroup
		for range 8 {
			t.beside(&all, func() {
				for busy.Err() == nil {
					_ = aCall(busy, t.Instance)
				}
			})
		}
		defer all.Wait()
		defer stop()
		for range 5 {
			soon, cancel := context.WithTimeout(t.ctx, 2*time.Second)
			err := t.Process.Health(soon)
			cancel()
			if err != nil && !errors.Is(core.AsError(err), core.Unsupported) {
				t.Errorf("Health, with 8 callers: %v", err)
			}
		}
	}},
	{"it refuses calls when it is drained, and those in flight end", "P7", OfProcess, func(t *T) {
		i := t.Another()
		soon, cancel := context.WithTimeout(t.ctx, 10*time.Second)
		defer cancel()
		flight := make(chan error, 8)
		for range cap(flight) {
			go func() { flight <- guarded("a call", func() error { return aCall(soon, i) }) }()
		}
		if err := i.Process.Drain(soon); err != nil {
			t.unsupported("Drain", err)
			t.Fatalf("Drain: %v", err)
		}
		for range cap(flight) {
			if err := <-flight; err != nil && !errors.Is(core.AsError(err), core.Unavailable) {
				t.Errorf("a call beside Drain: %v; it must be answered or refused as unavailable", err)
			}
		}
		if err := aCall(soon, i); err == nil || !errors.Is(core.AsError(err), core.Unavailable) {
			t.Errorf("a call after Drain: %v, want unavailable", err)
		}
	}},
}

// bare opens a process that nobody configures.
func (t *T) bare() *Process {
	i, err := t.run.subject.Open(t.ctx)
	t.must(err, "another process beside the first")
	t.Cleanup(func(context.Context) { i.close() })
	return i.Process
}

// aCall is one that changes nothing. Its error is nil where the plugin answered anything at all, unless it was unavailable.
func aCall(ctx context.Context, i *Instance) error {
	var err error
	switch {
	case i.NIC != nil:
		_, err = i.NIC.Services(ctx)
		return err
	case i.Fabric != nil:
		_, err = i.Fabric.Collectives(ctx)
		return err
	case i.Hooks != nil:
		_, err = i.Hooks.Parse(ctx, core.HookCall{Scheduler: "weft-verify", Phase: "weft-verify", Node: "n1"})
	case i.Scheduler != nil:
		_, err = core.Describe(ctx, i.Scheduler, noJob, nil, core.Peer{})
	}
	if err != nil && core.AsError(err).Code != core.Unavailable {
		return nil
	}
	return err
}
