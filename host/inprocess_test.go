package host

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/core"
)

// stubborn is a driver in the daemon whose calls end when the test says so, whatever their context says.
type stubborn struct {
	core.NICDriver
	free chan struct{}
}

func (d stubborn) Devices(context.Context) ([]core.Device, error) {
	<-d.free
	return nil, nil
}

func (d stubborn) Create(_ context.Context, specs []core.ServiceSpec) ([]core.Created, error) {
	<-d.free
	return make([]core.Created, len(specs)), nil
}

func (d stubborn) Services(context.Context) ([]core.Service, error) { panic("ouch") }

func (d stubborn) Destroy(context.Context, []core.Service) ([]error, error) { panic("destroy: ouch") }

func inBubble(t *testing.T, spec Spec, limits Limits, f func(*testing.T, *Host, *Plugin, *logbook)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		log := newLogbook()
		h, err := New(Options{Dir: "/run/weft", Log: newTextLog(log), Limits: limits})
		if err != nil {
			t.Fatal(err)
		}
		spec.Kind, spec.Name = Driver, "x"
		if d, ok := spec.Value.(stubborn); ok {
			d.free = make(chan struct{})
			spec.Value = d
		}
		p, err := h.Start(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		f(t, h, p, log)
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if got := p.Status().State; got != Stopped {
			t.Errorf("at the end: %v", got)
		}
	})
}

func TestInTheDaemonAReadIsNotWaitedFor(t *testing.T) {
	inBubble(t, Spec{Value: stubborn{}}, Limits{Calls: 3}, func(t *testing.T, _ *Host, p *Plugin, _ *logbook) {
		for range 3 {
			start := time.Now()
			if _, err := p.NIC().Devices(within(t, time.Second)); core.AsError(err).Code != core.Timeout || time.Since(start) != time.Second {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
		}
		if _, err := p.NIC().Devices(within(t, time.Second)); core.AsError(err).Reason != core.Overloaded {
			t.Errorf("with as many abandoned as there may be: %v", err)
		}
		close(p.spec.Value.(stubborn).free)
		synctest.Wait()
		if _, err := p.NIC().Devices(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestInTheDaemonAMutationIsAnsweredWhenItHasEnded(t *testing.T) {
	inBubble(t, Spec{Value: stubborn{}}, Limits{}, func(t *testing.T, _ *Host, p *Plugin, log *logbook) {
		over := make(chan error, 1)
		go func() {
			_, err := p.NIC().Create(within(t, time.Second), make([]core.ServiceSpec, 1))
			over <- err
		}()
		time.Sleep(time.Hour)
		select {
		case err := <-over:
			t.Fatalf("answered before it ended: %v", err)
		default:
		}
		if got := p.Status(); got.State != Degraded || !strings.Contains(got.Why, "create has not returned in time") || inFlight(p) != 1 {
			t.Errorf("%+v", got)
		}
		close(p.spec.Value.(stubborn).free)
		if err := <-over; err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if got := p.Status(); got.State != Ready || got.Why != "" {
			t.Errorf("%+v", got)
		}
		if !strings.Contains(log.String(), "call has not returned in time") {
			t.Errorf("the log: %s", log)
		}
	})
}

func TestInTheDaemonAPanicCostsItsCall(t *testing.T) {
	inBubble(t, Spec{Value: stubborn{}}, Limits{}, func(t *testing.T, _ *Host, p *Plugin, log *logbook) {
		if _, err := p.NIC().Services(t.Context()); core.AsError(err).Reason != core.InternalFault || !strings.Contains(err.Error(), "ouch") {
			t.Errorf("%v", err)
		}
		if _, err := p.NIC().Destroy(t.Context(), nil); core.AsError(err).Reason != core.InternalFault {
			t.Errorf("%v", err)
		}
		if got := p.Status(); got.State != Ready || strings.Count(log.String(), "plugin panicked") != 2 || !strings.Contains(log.String(), "goroutine") {
			t.Errorf("%+v\n%s", got, log)
		}
	})
}

// A Watch that does not heed its context ends for its caller, and tells nothing more.
func TestInTheDaemonAnAbandonedWatchTellsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, err := New(Options{Dir: "/run/weft", Log: newTextLog(newLogbook())})
		if err != nil {
			t.Fatal(err)
		}
		free, last := make(chan struct{}), make(chan error, 1)
		p, err := h.Start(t.Context(), Spec{Kind: Scheduler, Name: "x", Value: chatty{free: free, last: last}})
		if err != nil {
			t.Fatal(err)
		}
		told := 0
		err = p.Scheduler().Watch(within(t, time.Second), func(core.Jobs) error { told++; return nil })
		if err == nil || told != 1 {
			t.Errorf("%v, told %d times", err, told)
		}
		close(free)
		if err := <-last; err == nil || told != 1 {
			t.Errorf("%v, told %d times", err, told)
		}
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

type chatty struct {
	core.Scheduler
	free chan struct{}
	last chan error
}

func (c chatty) Watch(_ context.Context, tell func(core.Jobs) error) error {
	if err := tell(core.Jobs{Asking: true}); err != nil {
		return err
	}
	<-c.free
	c.last <- tell(core.Jobs{Complete: true})
	return nil
}

// TestInTheDaemonAPluginIsOfItsDaemonsBuild, and says so where one that is a process does.
func TestInTheDaemonAPluginIsOfItsDaemonsBuild(t *testing.T) {
	log := newLogbook()
	h, err := New(Options{Dir: "/run/weft", Log: newTextLog(log), Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := h.Start(t.Context(), Spec{Kind: Driver, Name: "x", Value: stubborn{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := p.Status().Version; got != "1.2.3" {
		t.Errorf("its version is %q", got)
	}
	if err := h.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), "version=1.2.3"); n != 2 {
		t.Errorf("the log has it %d times, of 2 starts:\n%s", n, log)
	}
}
