package host

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
)

// actor plays the lives of a plugin without a process.
type actor struct {
	mu     sync.Mutex
	begin  func(n int) error // the nth start fails with it
	health func() error
	deaf   bool // it does not end when it is told to
	starts []time.Duration
	since  time.Time
	now    *fakeLife
}

// do changes what the actor will do, or looks at what it did.
func (a *actor) do(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
}

func (a *actor) started() (starts []time.Duration) {
	a.do(func() { starts = slices.Clone(a.starts) })
	return starts
}

// dies ends the present life.
func (a *actor) dies(why string) {
	var now *fakeLife
	a.do(func() { now = a.now })
	if now != nil {
		now.die(why)
	}
}

type fakeLife struct {
	*life
	die func(string)
}

func (a *actor) start(ctx context.Context) (*life, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.starts = append(a.starts, time.Since(a.since))
	if a.begin != nil {
		if err := a.begin(len(a.starts)); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	l := newLife()
	dead, why := make(chan struct{}), ""
	die := func(text string) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if why == "" {
			why = text
			close(dead)
		}
	}
	l.dead, l.kill, l.pid, l.version = dead, die, len(a.starts), "1"
	l.stop = func() {
		if !a.deaf {
			die("it ended")
		}
	}
	l.why = func() string { <-dead; return why }
	l.nic = fakeNIC{}
	l.health = func(context.Context) error {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.health == nil {
			return nil
		}
		return a.health()
	}
	a.now = &fakeLife{l, die}
	return l, nil
}

type fakeNIC struct{ core.NICDriver }

func (fakeNIC) Devices(context.Context) ([]core.Device, error) { return nil, nil }

// play runs a plugin of an actor's in fake time.
func play(t *testing.T, a *actor, limits Limits, f func(t *testing.T, p *Plugin, first error, states func() []State)) {
	t.Helper()
	playTo(t, a, limits, newLogbook(), f)
}

// playTo has its log kept.
func playTo(t *testing.T, a *actor, limits Limits, log *logbook, f func(t *testing.T, p *Plugin, first error, states func() []State), change ...func(*Spec)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var states []State
		a.since = time.Now()
		spec := Spec{Kind: Driver, Name: "x"}
		for _, c := range change {
			c(&spec)
		}
		p := newPlugin(spec, core.OrDefault(limits, DefaultLimits), newTextLog(log), func(s Status) {
			mu.Lock()
			defer mu.Unlock()
			if len(states) == 0 || states[len(states)-1] != s.State {
				states = append(states, s.State)
			}
		})
		p.begin = a.start
		first := make(chan error, 1)
		go p.run(first)
		f(t, p, <-first, func() []State { mu.Lock(); defer mu.Unlock(); return states })
		p.halt()
		<-p.over
		if got := p.Status(); got.State != Stopped {
			t.Errorf("at the end: %+v", got)
		}
		if _, err := p.NIC().Devices(context.Background()); core.AsError(err).Code != core.Unavailable {
			t.Errorf("a call after the end: %v", err)
		}
	})
}

func TestRestartsBackOffAndTheBreakerHolds(t *testing.T) {
	a := &actor{begin: func(int) error { return errors.New("exit status 1") }}
	limits := Limits{Backoff: time.Second, BackoffMost: 4 * time.Second, Deaths: 5, Window: time.Minute}
	play(t, a, limits, func(t *testing.T, p *Plugin, first error, states func() []State) {
		if first == nil {
			t.Error("the first start went well")
		}
		time.Sleep(11 * time.Second) // the four waits take no longer
		starts := a.started()
		if len(starts) != 5 {
			t.Fatalf("started at %v", starts)
		}
		for i, most := range []time.Duration{1, 2, 4, 4} {
			if wait := starts[i+1] - starts[i]; wait < most*time.Second/2 || wait > most*time.Second {
				t.Errorf("wait %d: %v, want %v to %v", i, wait, most*time.Second/2, most*time.Second)
			}
		}
		got := p.Status()
		if got.State != Failed || got.Deaths != 5 || got.Why != "exit status 1; it ended 5 times within 1m0s and starts again every 12s" {
			t.Errorf("%+v", got)
		}
		start := time.Now()
		if _, err := p.NIC().Devices(t.Context()); core.AsError(err).Reason != core.DriverAway || !strings.Contains(err.Error(), "exit status 1") || time.Since(start) != 0 {
			t.Errorf("after %v: %v", time.Since(start), err)
		} else if _, down := errors.AsType[core.Down](err); !down {
			t.Errorf("its caller cannot tell that it is down: %v", err)
		}
		time.Sleep(36 * time.Second)
		if slow := a.started()[4:]; len(slow) != 4 || slow[1]-slow[0] != 12*time.Second || slow[3]-slow[2] != 12*time.Second {
			t.Errorf("tried again at %v", slow)
		}
		a.do(func() { a.begin = nil })
		if err := p.Restart(t.Context()); err != nil || p.Status().State != Ready {
			t.Errorf("restart: %v, %+v", err, p.Status())
		}
		a.dies("exit status 1") // the deaths before the restart count no more
		time.Sleep(time.Minute)
		want := []State{
			Starting, Backoff, Starting, Backoff, Starting, Backoff, Starting, Backoff, Starting, Failed,
			Starting, Failed, Starting, Failed, Starting, Failed, Starting, Ready,
			Backoff, Starting, Ready,
		}
		if diff := cmp.Diff(want, states()); diff != "" {
			t.Error(diff)
		}
	})
}

// A plugin that ended too often starts again by itself when its fault is gone, and its deaths are forgotten then.
func TestABrokenPluginHeals(t *testing.T) {
	a := &actor{begin: func(int) error { return errors.New("exit status 1") }}
	play(t, a, Limits{}, func(t *testing.T, p *Plugin, _ error, _ func() []State) {
		time.Sleep(time.Hour)
		if n := len(a.started()); p.Status().State != Failed || n < 30 || n > 36 {
			t.Errorf("%d starts in an hour: %+v", n, p.Status())
		}
		a.do(func() { a.begin = nil })
		time.Sleep(10 * time.Minute)
		a.dies("exit status 1")
		time.Sleep(time.Second)
		if s := p.Status(); s.State != Ready {
			t.Errorf("%+v", s)
		}
	})
}

func TestDeathsFarApartDoNotBreak(t *testing.T) {
	a := &actor{}
	play(t, a, Limits{}, func(t *testing.T, p *Plugin, _ error, _ func() []State) {
		for range 30 {
			a.dies("exit status 1")
			time.Sleep(3 * time.Minute)
			if s := p.Status(); s.State != Ready {
				t.Fatalf("%+v", s)
			}
		}
		if s := p.Status(); s.Deaths != 30 {
			t.Errorf("%+v", s)
		}
	})
}

func TestWhatAnAdministratorMustMendIsNotTriedAgain(t *testing.T) {
	for name, err := range map[string]error{
		"a complaint": &core.PathError{Path: []string{"nics"}, Err: errors.New("nics: too many")},
		"a sum":       core.Errorf(core.BadConfig, "sha256"),
		"a version":   core.Errorf(core.BadVersion, "protocol"),
	} {
		a := &actor{begin: func(int) error { return err }}
		play(t, a, Limits{}, func(t *testing.T, p *Plugin, first error, _ func() []State) {
			if !errors.Is(first, err) {
				t.Errorf("%s: %v", name, first)
			}
			time.Sleep(time.Hour)
			if got := p.Status(); got.State != Failed || len(a.started()) != 1 {
				t.Errorf("%s: %+v, started %d times", name, got, len(a.started()))
			}
		})
	}
}

// TestATrialThatIsRefusedIsNoDeath: whoever tries a block puts the former back, and the plugin is as it was.
func TestATrialThatIsRefusedIsNoDeath(t *testing.T) {
	for name, cause := range map[string]error{
		"a complaint": &core.PathError{Path: []string{"nics"}, Err: errors.New("nics: too many")},
		"a typo":      core.Errorf(core.BadConfig, "there is no nicks"),
		"an end":      errors.New("exit status 1"),
	} {
		a, bad := &actor{}, false
		a.begin = func(int) error {
			if bad {
				return cause
			}
			return nil
		}
		log := newLogbook()
		playTo(t, a, Limits{Deaths: 2}, log, func(t *testing.T, p *Plugin, _ error, _ func() []State) {
			for range 3 { // more often than the breaker lets a plugin die
				a.do(func() { bad = true })
				if err := p.Try(t.Context()); !errors.Is(err, cause) {
					t.Errorf("%s: %v", name, err)
				}
				if s := p.Status(); s.State != Backoff || s.Deaths != 0 {
					t.Errorf("%s: while it is tried: %+v", name, s)
				}
				a.do(func() { bad = false })
				if err := p.Restart(t.Context()); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if s := p.Status(); s.State != Ready || s.Deaths != 0 || s.Why != "" {
				t.Errorf("%s: %+v", name, s)
			}
			if said := log.String(); strings.Contains(said, "level=ERROR") || strings.Contains(said, "level=WARN") {
				t.Errorf("%s: the log says\n%s", name, said)
			}

			// One who tries and is gone leaves it to itself.
			a.do(func() { bad = true })
			if err := p.Try(t.Context()); err == nil {
				t.Errorf("%s: it went well", name)
			}
			a.do(func() { bad = false })
			time.Sleep(time.Minute)
			if s := p.Status(); s.State != Ready {
				t.Errorf("%s: %+v", name, s)
			}
			// What dies by itself still counts.
			a.do(func() { bad = true })
			if err := p.Restart(t.Context()); err == nil || p.Status().Deaths != 1 {
				t.Errorf("%s: a restart: %v, %+v", name, err, p.Status())
			}
		})
	}
}

// TestWhatIsNeededIsToldOnce: its start is refused, and who refuses says why.
func TestWhatIsNeededIsToldOnce(t *testing.T) {
	for _, tt := range []struct {
		needed bool
		cause  error
		logged bool
	}{
		{false, core.Errorf(core.BadConfig, "sha256"), true},
		{true, core.Errorf(core.BadConfig, "sha256"), false},
		{true, errors.New("exit status 1"), true},
	} {
		a, log := &actor{begin: func(int) error { return tt.cause }}, newLogbook()
		playTo(t, a, Limits{}, log, func(t *testing.T, p *Plugin, first error, _ func() []State) {
			synctest.Wait()
			if said := log.String(); !errors.Is(first, tt.cause) || strings.Contains(said, tt.cause.Error()) != tt.logged {
				t.Errorf("%+v: %v, and the log says\n%s", tt, first, said)
			}
		}, func(s *Spec) { s.Needed = tt.needed })
	}
}

func TestMissedHealthChecks(t *testing.T) {
	bad := false
	a := &actor{health: func() error {
		if bad {
			return errors.New("deadline")
		}
		return nil
	}}
	play(t, a, Limits{}, func(t *testing.T, p *Plugin, _ error, states func() []State) {
		time.Sleep(time.Minute + time.Second) // between two checks
		a.do(func() { bad = true })
		time.Sleep(DefaultLimits.HealthEvery)
		synctest.Wait()
		if got := p.Status(); got.State != Degraded || got.Why != "it does not answer: deadline" {
			t.Errorf("%+v", got)
		}
		if _, err := p.NIC().Devices(t.Context()); err != nil {
			t.Errorf("a degraded plugin is used: %v", err)
		}
		a.do(func() { bad = false })
		time.Sleep(DefaultLimits.HealthEvery)
		synctest.Wait()
		if got := p.Status(); got.State != Ready || got.Why != "" {
			t.Errorf("%+v", got)
		}
		a.do(func() { bad = true })
		time.Sleep(time.Duration(DefaultLimits.Misses) * DefaultLimits.HealthEvery)
		a.do(func() { bad = false })
		time.Sleep(time.Second)
		if got := p.Status(); got.State != Ready || got.PID != 2 || got.Deaths != 1 {
			t.Errorf("%+v", got)
		}
		want := []State{Starting, Ready, Degraded, Ready, Degraded, Backoff, Starting, Ready}
		if diff := cmp.Diff(want, states()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestCallsWaitForTheNextLife(t *testing.T) {
	away := true
	a := &actor{begin: func(n int) error {
		if n > 1 && away {
			return errors.New("exit status 1")
		}
		return nil
	}}
	limits := Limits{Backoff: time.Second, BackoffMost: time.Second, Deaths: 100, Patience: 3 * time.Second}
	play(t, a, limits, func(t *testing.T, p *Plugin, _ error, _ func() []State) {
		a.dies("exit status 1")
		start := time.Now()
		if _, err := p.NIC().Devices(t.Context()); err == nil || time.Since(start) != 3*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		start = time.Now()
		if _, err := p.NIC().Devices(within(t, time.Second)); err == nil || time.Since(start) != time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		a.do(func() { away = false })
		start = time.Now()
		if _, err := p.NIC().Devices(t.Context()); err != nil || time.Since(start) > time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

func TestAProcessThatDoesNotEndIsKilled(t *testing.T) {
	a := &actor{deaf: true}
	play(t, a, Limits{}, func(t *testing.T, p *Plugin, _ error, _ func() []State) {
		start := time.Now()
		p.halt()
		<-p.over
		if took := time.Since(start); took != DefaultLimits.Kill {
			t.Errorf("it took %v", took)
		}
	})
}

// Whatever happens to it, a plugin is used only while it is configured and lives, and never by a call after its stop.
func TestAnyHistoryEndsReadyOrSays(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.SampledFrom([]string{"die", "wait", "long", "restart", "call", "sick", "well", "broken", "whole"}), 1, 40).Draw(rt, "steps")
		sick, broken := false, false
		a := &actor{
			health: func() error {
				if sick {
					return errors.New("sick")
				}
				return nil
			},
			begin: func(int) error {
				if broken {
					return errors.New("broken")
				}
				return nil
			},
		}
		play(t, a, Limits{}, func(_ *testing.T, p *Plugin, _ error, _ func() []State) {
			for _, s := range steps {
				switch s {
				case "die":
					a.dies("died")
				case "wait":
					time.Sleep(time.Second)
				case "long":
					time.Sleep(time.Hour)
				case "restart":
					if err := p.Restart(context.Background()); (err != nil) != broken {
						rt.Fatalf("restart: %v, broken: %v", err, broken)
					}
				case "call":
					_, err := p.NIC().Devices(context.Background())
					state := p.Status().State
					if err != nil && state == Ready {
						rt.Fatalf("%v, and it is %v", err, state)
					}
				case "sick", "well":
					a.do(func() { sick = s == "sick" })
				case "broken", "whole":
					a.do(func() { broken = s == "broken" })
				}
				synctest.Wait()
			}
			a.do(func() { sick, broken = false, false })
			if p.Status().State == Failed {
				if err := p.Restart(context.Background()); err != nil {
					rt.Fatal(err)
				}
			}
			time.Sleep(time.Hour)
			if got := p.Status(); got.State != Ready || got.Why != "" {
				rt.Fatalf("%+v", got)
			}
		})
	})
}
