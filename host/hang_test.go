package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
)

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// A reading call that hangs costs itself: it ends with its context, the process stays, and other calls go on meanwhile.
func TestAHangingReadCostsItself(t *testing.T) {
	limits := quick
	limits.Drain = 100 * time.Millisecond
	for _, how := range []string{"heed", "deaf"} {
		s := newStage(t, limits)
		p := s.puppet(func(spec *Spec) { spec.Block = values(core.Values{"devices": how}) })
		pid := p.Status().PID
		hanging := make(chan error, 1)
		go func() { _, err := p.NIC().Devices(within(t, 300*time.Millisecond)); hanging <- err }()
		s.awaitCalls(p, 1)
		if _, err := do(t.Context(), p, "nothing"); err != nil {
			t.Errorf("%s: a call meanwhile: %v", how, err)
		}
		if err := <-hanging; core.AsError(err).Code != core.Timeout {
			t.Errorf("%s: %v", how, err)
		}
		if got := p.Status(); got.PID != pid || got.State != Ready || got.Deaths != 0 {
			t.Errorf("%s: %+v", how, got)
		}
	}
}

// A Create that comes back late, yet within the grace, delivers what it made.
func TestALateCreateIsHeard(t *testing.T) {
	limits := quick
	limits.Grace = 20 * time.Second
	s := newStage(t, limits)
	p := s.puppet()
	out, err := p.NIC().Create(within(t, 100*time.Millisecond), []core.ServiceSpec{{Device: "slow-400", Owner: core.UID(1), VNIs: []core.VNI{9}}})
	if err != nil || out[0].Service.ID != 2 {
		t.Errorf("%+v %v", out, err)
	}
	// And one that heeds its context knows its caller's deadline, not the grace's end.
	start := time.Now()
	if _, err := do(within(t, 100*time.Millisecond), p, "heed"); err != nil || time.Since(start) > 10*time.Second {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
	if got := p.Status(); got.Deaths != 0 {
		t.Errorf("%+v", got)
	}
}

// A Create that does not come back is answered when its process is dead, and not before.
func TestAHangingCreateIsAnsweredByADeadProcess(t *testing.T) {
	for _, how := range []string{"deaf", "stop-0"} {
		s := newStage(t, quick)
		p := s.puppet()
		pid := p.Status().PID
		_, err := do(within(t, 50*time.Millisecond), p, how)
		if alive(pid) {
			t.Errorf("%s: answered while its process lives", how)
		}
		e := core.AsError(err)
		if e == nil || e.Reason != core.DriverAway || !strings.Contains(e.What, "create did not return when it had to") {
			t.Errorf("%s: %v", how, err)
		}
		if now := s.pid(p); now == pid {
			t.Errorf("%s: it is the same process", how)
		}
	}
}

// The same for a caller that gives up before its deadline.
func TestACancelledCreateIsAnsweredByADeadProcess(t *testing.T) {
	s := newStage(t, quick)
	p := s.puppet()
	pid := p.Status().PID
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { _, err := do(ctx, p, "deaf"); result <- err }()
	s.awaitCalls(p, 1)
	cancel()
	if err := <-result; err == nil || alive(pid) {
		t.Errorf("%v; alive: %v", err, alive(pid))
	}
}

// A call that is too late is not begun.
func TestNoCallIsBegunTooLate(t *testing.T) {
	s := newStage(t, quick)
	p := s.puppet()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := do(ctx, p, "exit"); err == nil {
		t.Error("no error")
	}
	if got := p.Status(); got.Deaths != 0 || got.State != Ready {
		t.Errorf("%+v", got)
	}
}

// An answer of another length than its question is the plugin's fault, and no index panics.
func TestAMiscountIsTheNICsFailure(t *testing.T) {
	s := newStage(t, quick)
	p := s.puppet()
	_, err := p.NIC().Destroy(t.Context(), []core.Service{{Device: "cxi0", ID: 2, Owner: core.UID(1), VNIs: []core.VNI{9}}})
	if err == nil || !strings.Contains(err.Error(), "results for 1 services") && !strings.Contains(err.Error(), "cannot be used") {
		t.Errorf("%v", err)
	}
}

func TestAWatchEndsWithTheLife(t *testing.T) {
	s := newStage(t, quick)
	p, err := s.Start(t.Context(), Spec{Kind: Scheduler, Name: "tioga", Program: act("adapter")})
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"restart", "kill", "context", "tell"} {
		ctx, cancel := context.WithCancel(t.Context())
		asking, result := make(chan bool, 1), make(chan error, 1)
		full := errors.New("full")
		go func() {
			result <- p.Scheduler().Watch(ctx, func(j core.Jobs) error {
				asking <- j.Asking
				if end == "tell" {
					return full
				}
				return nil
			})
		}()
		select {
		case first := <-asking:
			if !first {
				t.Error("it told something else")
			}
		case err := <-result:
			t.Fatalf("%s: it ended before it told: %v", end, err)
		}
		starts := p.Status().Starts
		switch end {
		case "restart":
			if err := p.Restart(t.Context()); err != nil {
				t.Error(err)
			}
		case "kill":
			p.mu.Lock()
			p.life.kill("a test")
			p.mu.Unlock()
		case "context":
			cancel()
		}
		err := <-result
		cancel()
		switch {
		case err == nil,
			end == "context" && !errors.Is(err, context.Canceled),
			end == "tell" && !errors.Is(err, full) && !strings.Contains(err.Error(), "full"),
			(end == "restart" || end == "kill") && core.AsError(err).Code != core.Unavailable:
			t.Errorf("%s: %v", end, err)
		}
		if end == "kill" {
			starts++
		}
		s.await(p, "ready", func(s Status) bool { return s.State == Ready && s.Starts >= starts })
	}
}

// A plugin of another build may have other phases: what is asked after its restart is what it says then.
func TestPhasesAreOfTheLifeThatIs(t *testing.T) {
	s := newStage(t, quick)
	p, err := s.Start(t.Context(), Spec{Kind: Scheduler, Name: "tioga", Program: act("adapter")})
	if err != nil {
		t.Fatal(err)
	}
	phased := p.Hooks().(core.Phased)
	for range 2 {
		pid := strconv.Itoa(p.Status().PID)
		got, err := phased.Phases(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := []core.HookPhase{{Name: "prolog", Action: core.Prepare, Root: true, Variables: []string{"JOB_ID", "PID_" + pid}, Job: []string{"JOB_ID"}, Limit: 8 * time.Second}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if err := p.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	p.mu.Lock()
	p.life.abilities = nil // a plugin that tells none is not asked, whatever it could answer
	p.mu.Unlock()
	if got, err := p.Hooks().(core.Phased).Phases(t.Context()); core.AsError(err).Code != core.Unsupported {
		t.Errorf("%+v %v", got, err)
	}
	inside, err := s.Start(t.Context(), Spec{Kind: Scheduler, Name: "inside", Value: adapter{}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := inside.Hooks().(core.Phased).Phases(t.Context()); err != nil || len(got) != 1 || got[0].Variables[1] != "PID_"+strconv.Itoa(os.Getpid()) {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := s.puppet().Hooks().(core.Phased).Phases(t.Context()); core.AsError(err).Code != core.Unsupported {
		t.Error(err)
	}
}

func TestAnAdapterHasBothHalves(t *testing.T) {
	s := newStage(t, quick)
	for name, spec := range map[string]Spec{"process": {Program: act("adapter")}, "daemon": {Value: adapter{}}} {
		spec.Kind, spec.Name = Scheduler, name
		p, err := s.Start(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := p.Hooks().Render(t.Context(), core.HookCall{}, core.Outcome{Action: core.CleanUp}); r.Exit != 3 || string(r.Stdout) != "\u202e" || string(r.Stderr) != "a??b\n" || err != nil {
			t.Errorf("%s: %+v %v", name, r, err)
		}
		key := core.Key{JobID: core.JobID{Scheduler: name, Job: "7"}}
		if _, err := core.Describe(t.Context(), p.Scheduler(), key, nil, core.Peer{}); core.AsError(err).Reason != core.JobUnknown {
			t.Errorf("%s: %v", name, err)
		}
		for verb, want := range map[core.SchedulerVerb]core.Code{
			core.CallFail: 0, core.CallDrain: core.Unsupported, core.CallAnnotate: core.Unsupported, core.CallResume: core.Unsupported, core.CallDown: core.Unsupported, core.CallRequeue: core.Unsupported, core.CallDrained: core.Unsupported,
		} {
			call := core.SchedulerCall{Scheduler: name, Verb: verb, Key: key, Node: "n1", Reason: "x", Grant: &core.Grant{Run: core.Run{Key: key}}}
			_, err := p.Scheduler().Call(t.Context(), call)
			if got := core.AsError(err); want == 0 && got != nil || want != 0 && (got == nil || got.Code != want) {
				t.Errorf("%s: %s: %v", name, verb, err)
			}
			if able := verb == core.CallFail || verb == core.CallDrain; p.Scheduler().Has(verb) != able {
				t.Errorf("%s: it has %s: %v", name, verb, !able)
			}
		}
		if found, err := p.Checker().Check(t.Context()); found != nil || err != nil {
			t.Errorf("%s: check: %v %v", name, found, err)
		}
		if _, err := p.NIC().Create(t.Context(), nil); core.AsError(err).Code != core.Unsupported {
			t.Errorf("%s: as a driver: %v", name, err)
		}
		if got := p.Status(); got.State != Ready || got.Deaths != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestAutoMTLS(t *testing.T) {
	s := newStage(t, quick)
	p := s.puppet(func(spec *Spec) { spec.AutoMTLS = true })
	before := s.pid(p)
	if _, err := do(t.Context(), p, "exit"); err == nil {
		t.Error("no error")
	}
	if s.pid(p) == before {
		t.Error("it is the same process")
	}
	if p := s.puppet(func(spec *Spec) { spec.Name = "plain" }); p.spec.AutoMTLS {
		t.Error(fmt.Errorf("it is on by default"))
	}
}
