package life

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/drivers/sim"
)

// breaks are what is wrong with a world on purpose, so that it is seen that scenarios find it. Nothing is, in TestLife.
type breaks struct {
	takes    func(next func() (core.VNI, error)) (core.VNI, error)
	keeps    bool          // VNIs that are given back
	forgets  bool          // what the store holds of reservations, and nodes do not say what they hold
	leaks    bool          // services that are to be removed, and says that they are
	admits   bool          // another user to what it makes
	halves   bool          // services: they stand on the first NIC only, and a reading shows them on all
	confuses bool          // failures: each is the node's
	gives    time.Duration // up waiting; 0: late
}

// broken is an allocator with breaks.
type broken struct {
	engine.Allocator
	breaks
}

func (w *world) allocating(a engine.Allocator) engine.Allocator { return broken{a, w.breaks} }

func (b broken) Take(pool string) (core.VNI, error) {
	next := func() (core.VNI, error) { return b.Allocator.Take(pool) }
	if b.takes == nil {
		return next()
	}
	return b.takes(next)
}

func (b broken) Give(v core.VNI) {
	if !b.keeps {
		b.Allocator.Give(v)
	}
}

// forgetful is a store with breaks.
type forgetful struct {
	engine.Store
	breaks
}

func (w *world) forgetting(s engine.Store) engine.Store { return forgetful{s, w.breaks} }

func (f forgetful) Load(ctx context.Context, tell func(engine.Record) error) error {
	return f.Store.Load(ctx, func(r engine.Record) error {
		switch r.(type) {
		case engine.Reservation, engine.Join:
			if f.forgets {
				return nil
			}
		}
		return tell(r)
	})
}

func (b breaks) creating(d *sim.Driver) func(context.Context, []core.ServiceSpec) ([]core.Created, error) {
	switch {
	case b.admits:
		return func(ctx context.Context, specs []core.ServiceSpec) ([]core.Created, error) {
			out, err := d.Create(ctx, specs)
			if err != nil {
				return nil, err
			}
			other := specs[0]
			other.Owner = core.UID(other.Owner.ID + 1)
			_, err = d.Create(ctx, []core.ServiceSpec{other})
			return out, err
		}
	case !b.halves:
		return d.Create
	}
	return func(ctx context.Context, specs []core.ServiceSpec) ([]core.Created, error) {
		made, err := d.Create(ctx, specs[:1])
		if err != nil {
			return nil, err
		}
		out := make([]core.Created, len(specs))
		for i := range out {
			out[i] = made[0]
			out[i].Service.Device = specs[i].Device
		}
		return out, nil
	}
}

func (b breaks) showing(d *sim.Driver) func(context.Context) ([]core.Service, error) {
	if !b.halves {
		return d.Services
	}
	return func(ctx context.Context) ([]core.Service, error) {
		devices, err := d.Devices(ctx)
		if err != nil {
			return nil, err
		}
		out, err := d.Services(ctx)
		for _, s := range slices.Clone(out) {
			for _, to := range devices[1:] {
				if twin := s; s.Device == devices[0].Name && !s.System && !s.Default {
					twin.Device = to.Name
					out = append(out, twin)
				}
			}
		}
		return out, err
	}
}

func (b breaks) destroying(d *sim.Driver) func(context.Context, []core.Service) ([]error, error) {
	if !b.leaks {
		return d.Destroy
	}
	return func(_ context.Context, services []core.Service) ([]error, error) {
		return make([]error, len(services)), nil
	}
}

func (b breaks) judging(o core.Outcome) core.Outcome {
	if b.confuses && o.Err != nil {
		o.Err = core.Errorf(core.NICFailed, "cxi0: %s", o.Err.What)
	}
	return o
}

// again takes what the turn-th Take took once more, instead of something new, from the one after it on.
func again(turn int) func(func() (core.VNI, error)) (core.VNI, error) {
	var mu sync.Mutex
	var turns int
	var taken core.VNI
	return func(next func() (core.VNI, error)) (core.VNI, error) {
		mu.Lock()
		defer mu.Unlock()
		if turns++; turns > turn {
			return taken, nil
		}
		var err error
		taken, err = next()
		return taken, err
	}
}

// witness hears what a scenario complains of.
type witness struct {
	testing.TB
	mu   sync.Mutex
	said []string
}

func (w *witness) hear(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, text)
}

func (w *witness) Error(args ...any)                 { w.hear(fmt.Sprint(args...)) }
func (w *witness) Errorf(format string, args ...any) { w.hear(fmt.Sprintf(format, args...)) }
func (w *witness) Fatal(args ...any)                 { w.hear(fmt.Sprint(args...)); runtime.Goexit() }
func (w *witness) Fatalf(format string, args ...any) {
	w.hear(fmt.Sprintf(format, args...))
	runtime.Goexit()
}

// heard is what a scenario complains of in a world with breaks.
func heard(t *testing.T, sc scenario, b breaks, makers ...maker) string {
	ears := &witness{TB: t}
	done := make(chan struct{})
	go func() { // which a complaint may end
		defer close(done)
		sc.try(newWorld(ears, sc, b, makers...))
	}()
	<-done
	ears.mu.Lock()
	defer ears.mu.Unlock()
	return strings.Join(ears.said, "\n")
}

// TestScenariosFindWhatIsWrong breaks in turn each thing that scenarios hold, and wants to hear of it. All worlds are at once, since most of them only wait.
func TestScenariosFindWhatIsWrong(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	defer all.Wait()
	for name, test := range map[string]struct {
		scenario string
		breaks   breaks
		hears    string
	}{
		"a VNI is given to two schedulers":            {"start", breaks{takes: again(1)}, "VNI 1024 is "},
		"a VNI is given before its node is clean":     {"a service is busy at clean-up", breaks{takes: again(2)}, "VNI 1025 is "},
		"a VNI serves another user too":               {"start", breaks{admits: true}, "VNI 1024 serves "},
		"a VNI never comes back":                      {"start", breaks{keeps: true}, "it does not come to no reservation"},
		"a service stays on a NIC":                    {"start", breaks{leaks: true}, "it does not come to no service on"},
		"what a failed start made stays":              {"a NIC of the other node makes no service", breaks{leaks: true}, "it does not come to no service on"},
		"a job has a part of its NICs":                {"start", breaks{halves: true}, "stands on 1 NICs, want 2"},
		"a reservation is lost":                       {"server killed while the job runs", breaks{forgets: true}, "the server has no reservation of it"},
		"a user's fault is the node's":                {"denied by policy", breaks{confuses: true}, "drained n"},
		"that the server is away is the node's fault": {"the server is away for longer than the hook waits", breaks{confuses: true}, "drained n"},
	} {
		i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == test.scenario })
		test.breaks.gives = 10 * time.Second
		all.Go(func() {
			if said := heard(t, scenarios[i], test.breaks, maker{"slurm", newSlurm}, maker{"pbs", newPBS}); !strings.Contains(said, test.hears) {
				t.Errorf("%s: heard %q, want %q", name, said, test.hears)
			}
		})
	}
}
