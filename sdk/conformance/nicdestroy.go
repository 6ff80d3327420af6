package conformance

import (
	"context"
	"slices"
	"sync"

	"github.com/weft-hpc/weft/core"
)

var nicDestroyCases = []Case{
	leaves("a service whose VNIs are others", func(t *T, s *core.Service) { s.VNIs = t.vnis(2)[1:2] }),
	leaves("a service with one VNI more", func(t *T, s *core.Service) { s.VNIs = t.vnis(2)[:2] }),
	leaves("a service of another owner", func(_ *T, s *core.Service) { s.Owner = core.UID(stranger) }),
	leaves("a service of an owner of another kind", func(_ *T, s *core.Service) { s.Owner.Kind = core.OwnerGID }),
	{"a service is gone from the NIC when it is told as gone", "D5", OfNIC, func(t *T) {
		d := t.nics(1)[0]
		t.vnis(2)
		s, other := t.made(t.spec(d, 0)), t.made(t.spec(d, 1))
		t.must(t.destroy(s)[0], "Destroy")
		all := t.services()
		if held, ok := on(all, s); ok && held.Same(s) {
			t.Errorf("Services still has %s/%d, which Destroy told as gone", s.Device, s.ID)
		}
		if _, ok := on(all, other); !ok {
			t.Errorf("%s/%d is gone too, which nobody asked for", other.Device, other.ID)
		}
	}},
	{"a service that is gone already is told as gone", "D5", OfNIC, func(t *T) {
		t.heedful()
		s := t.made(t.spec(t.nics(1)[0], 0))
		for i := range 3 {
			t.should(t.destroy(s)[0], "Destroy, time %d", i+1)
		}
		for i, err := range t.destroy(s, s) {
			t.should(err, "Destroy of it twice in one call, result %d", i+1)
		}
	}},
	{"a service in use is told as busy at once, and stays", "D5", OfNIC, func(t *T) {
		if t.Site.Hold == nil {
			t.Skipf("nothing here can hold a service in use: see --hold")
		}
		s := t.made(t.spec(t.nics(1)[0], 0))
		ctx, cancel := context.WithTimeout(t.ctx, t.Site.Patience/2) // the case's other half is the plugin's
		release, err := t.Site.Hold(ctx, s)
		cancel()
		t.must(err, "the application that was to hold %s/%d", s.Device, s.ID)
		free := sync.OnceFunc(release)
		defer free()
		for range 2 {
			t.code("Destroy", t.destroy(s)[0], core.Busy)
		}
		if _, ok := on(t.services(), s); !ok {
			t.Errorf("%s/%d is gone, with an application in it", s.Device, s.ID)
		}
		free()
		t.should(t.destroy(s)[0], "Destroy when nobody uses it any more")
	}},
	{"an attempt to remove the system's services is refused", "D6", OfNIC, func(t *T) {
		if !t.Site.Expendable {
			t.Skipf("a wrong driver would take the node's network down: see --expendable")
		}
		var all []core.Service
		for _, s := range t.services() {
			if s.System || s.Default {
				all = append(all, s)
			}
		}
		if len(all) == 0 {
			t.Skipf("its NICs have no system service and no default service")
		}
		before := lasting(all)
		for i, err := range t.destroy(all...) {
			t.code(oneService(all[i]), err, core.Conflict, core.Denied, core.Invalid)
		}
		for _, s := range all {
			spec := core.ServiceSpec{Device: s.Device, Owner: s.Owner, VNIs: s.VNIs, Classes: s.Classes, Limits: s.Limits}
			if s.Owner.Kind == core.OwnerNone || len(s.VNIs) == 0 || len(s.VNIs) > core.MaxVNIs {
				continue
			}
			if c := t.create(spec)[0]; c.Err == nil && c.Service.ID == s.ID {
				t.Errorf("%s: it was given out as a job's", oneService(s))
			}
		}
		if after := lasting(t.services()); !slices.Equal(before, after) {
			t.Errorf("they were %v and are %v", before, after)
		}
	}},
}

// leaves is the case that Destroy leaves a service that differs from what it is given.
func leaves(what string, change func(*T, *core.Service)) Case {
	return Case{what + " is left, and told as conflict", "D5", OfNIC, func(t *T) {
		s := t.made(t.spec(t.nics(1)[0], 0))
		other := s
		change(t, &other)
		err := t.destroy(other)[0]
		if held, ok := on(t.services(), s); !ok || !held.Same(s) {
			t.Errorf("%s was removed, and it is not the one that was named", oneService(s))
		}
		t.code("Destroy", err, core.Conflict)
	}}
}

func oneService(s core.Service) string {
	return core.Errorf(core.BadCall, "service %s/%d with VNIs %s", s.Device, s.ID, core.FormatVNIs(s.VNIs)).What
}
