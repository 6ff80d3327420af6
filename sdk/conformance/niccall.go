package conformance

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/weft-hpc/weft/core"
)

var nicCallCases = []Case{
	{"calls at the same time do not disturb each other", "C1", OfNIC, func(t *T) {
		d := t.nics(1)[0]
		t.vnis(3)
		var all sync.WaitGroup
		for n := range 3 {
			spec := t.spec(d, n)
			t.beside(&all, func() {
				for range 5 {
					s, err := createOne(t.ctx, t.NIC, spec)
					if err != nil {
						t.Errorf("Create: %v", err)
						return
					}
					if !slices.Equal(s.VNIs, spec.VNIs) {
						t.Errorf("Create with VNIs %s returned VNIs %s", core.FormatVNIs(spec.VNIs), core.FormatVNIs(s.VNIs))
					}
					list, err := t.NIC.Services(t.ctx)
					if held, ok := on(list, s); err != nil || !ok || !held.Same(s) {
						t.Errorf("Services: %v, and %s/%d is listed as %+v", err, s.Device, s.ID, held)
					}
					if err := destroyOne(t.ctx, t.NIC, s); err != nil {
						t.Errorf("Destroy: %v", err)
						return
					}
				}
			})
			t.beside(&all, func() {
				for range 5 {
					_, err := t.NIC.Devices(t.ctx)
					t.should(err, "Devices")
				}
			})
		}
		all.Wait()
	}},
	{"a call whose time is over returns", "C2", OfNIC, func(t *T) {
		_, spec := t.one()
		t.returns(func(ctx context.Context) { _, _ = t.NIC.Devices(ctx) })
		t.returns(func(ctx context.Context) { _, _ = t.NIC.Services(ctx) })
		t.returns(func(ctx context.Context) { _, _ = t.NIC.Create(ctx, []core.ServiceSpec{spec}) })
		t.returns(func(ctx context.Context) { _, _ = t.NIC.Destroy(ctx, nil) })
	}},
	{"nothing is begun when there is no time for it", "C3", OfNIC, func(t *T) {
		spec := t.spec(t.nics(1)[0], 0)
		over, cancel := context.WithDeadline(t.ctx, time.Now().Add(-time.Second))
		defer cancel()
		_, err := createOne(over, t.NIC, spec)
		t.code("Create after its deadline", err, core.Timeout, core.Unavailable)
		t.nothingComes("Create after its deadline")
	}},
	{"nothing goes on after a call has failed for want of time", "C3", OfNIC, func(t *T) {
		spec := t.spec(t.nics(1)[0], 0)
		for _, d := range []time.Duration{time.Microsecond, time.Millisecond} {
			brief, cancel := context.WithTimeout(t.ctx, d)
			s, err := createOne(brief, t.NIC, spec)
			cancel()
			if err == nil { // it was quick enough
				t.must(t.destroy(s)[0], "Destroy")
				continue
			}
			t.nothingComes("Create that failed after " + d.String())
		}
	}},
	{"one result comes for each item, in the items' order", "C4", OfNIC, func(t *T) {
		devices := t.nics(1)
		n := 2
		t.vnis(n)
		var specs []core.ServiceSpec
		for i := range n {
			for _, d := range devices[:min(2, len(devices))] {
				specs = append(specs, t.spec(d, i))
			}
		}
		var made []core.Service
		for i, c := range t.create(specs...) {
			if c.Err != nil {
				t.Fatalf("result %d: %v", i+1, c.Err)
			}
			if c.Service.Device != specs[i].Device || !slices.Equal(c.Service.VNIs, specs[i].VNIs) {
				t.Errorf("result %d is on %s with VNIs %s; item %d was %s", i+1, c.Service.Device, core.FormatVNIs(c.Service.VNIs), i+1, about(specs[i]))
			}
			made = append(made, c.Service)
		}
		wrong := made[1]
		wrong.Owner = core.UID(stranger)
		errs := t.destroy(made[0], wrong, made[1])
		if errs[0] != nil || errs[1] == nil || errs[2] != nil {
			t.Errorf("Destroy answered %v; only the second item is another's", errs)
		}
		if out := t.create(); len(out) != 0 {
			t.Errorf("Create of nothing answered %d results", len(out))
		}
		if out := t.destroy(); len(out) != 0 {
			t.Errorf("Destroy of nothing answered %d results", len(out))
		}
	}},
	{"an instance that starts anew knows what the one before made", "C6", OfNIC, func(t *T) {
		if t.Site.InMemory {
			t.Skipf("its NICs exist in each instance's memory only")
		}
		t.heedful()
		spec := t.spec(t.nics(1)[0], 0)
		s := t.made(spec)
		next := t.Another()
		again, err := createOne(t.ctx, next.NIC, spec)
		t.should(err, "the next one's Create of the same")
		if err == nil && !again.Same(s) {
			t.Errorf("the next one's Create made %s/%d, and the first had made %s/%d", again.Device, again.ID, s.Device, s.ID)
		}
		if own := t.ourOwn(t.services()); len(own) != 1 {
			t.Errorf("the NIC holds %d services of one spec", len(own))
		}
		t.should(destroyOne(t.ctx, next.NIC, s), "the next one's Destroy")
		t.should(t.destroy(s)[0], "Destroy of what another instance has removed")
	}},
}

// soon is when a call must have returned whose time is over. It is generous: a machine may be busy, a hang is for ever.
const soon = 5 * time.Second

// returns calls f with no time, and again ended from outside, and wants it back soon.
func (t *T) returns(f func(context.Context)) {
	over, cancel := context.WithDeadline(t.ctx, time.Now().Add(-time.Second))
	ended, end := context.WithCancel(t.ctx)
	end()
	defer cancel()
	for _, ctx := range []context.Context{over, ended} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			if err := guarded("call", func() error { f(ctx); return nil }); err != nil {
				t.Errorf("%v", err)
			}
		}()
		if !within(done, soon) {
			t.Fatalf("it has not returned %s after its end", soon)
		}
	}
}

// nothingComes looks twice whether a call that failed has made a service.
func (t *T) nothingComes(what string) {
	for range 2 {
		if own := t.ourOwn(t.services()); len(own) != 0 {
			t.Errorf("%s made %s", what, oneService(own[0]))
			return
		}
		within(t.ctx.Done(), 50*time.Millisecond)
	}
}
