package conformance

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
)

var nicReadCases = []Case{
	{"its NICs have names of their own, and are the same ones when asked again", "D1", OfNIC, func(t *T) {
		t.stable()
	}},
	{"what another instance makes and removes is seen at once", "D1", OfNIC, func(t *T) {
		if t.Site.InMemory {
			t.Skipf("its NICs exist in each instance's memory only")
		}
		d := t.nics(1)[0]
		t.vnis(2)
		t.services() // what is remembered from here on is wrong
		other := t.Another()
		s, err := createOne(t.ctx, other.NIC, t.spec(d, 0))
		t.must(err, "another instance: Create")
		if got, ok := on(t.services(), s); !ok || !got.Same(s) {
			t.Errorf("Services does not show what another instance made as %s/%d: it is not read from the NIC (NICs in a process's memory: --in-memory)", s.Device, s.ID)
		}
		t.must(destroyOne(t.ctx, other.NIC, s), "another instance: Destroy")
		if got, ok := on(t.services(), s); ok && got.Same(s) {
			t.Errorf("Services shows %s/%d, which another instance removed: it is not read from the NIC", s.Device, s.ID)
		}
	}},
	{"what is free of a NIC is less by what a service reserves, and more when it is gone", "D1", OfNIC, func(t *T) {
		before := t.nics(1)[0]
		spec := t.spec(before, 0)
		if before.Capacity[core.TXQ].Total == 0 || spec.Limits[core.TXQ].Reserved == 0 {
			t.Skipf("its NICs have no capacity that could become less")
		}
		t.untilQuiet("free "+core.TXQ.String(), func() string {
			free := func() uint16 { return t.device(before.Name).Capacity[core.TXQ].Free }
			was := free()
			s := t.made(spec)
			with := free()
			t.must(t.destroy(s)[0], "Destroy")
			after := free()
			if least := spec.Limits[core.TXQ].Reserved; was-with != least || after != was {
				return fmt.Sprintf("%d before, %d with a service that reserves %d, %d after", was, with, least, after)
			}
			return ""
		})
	}},
	{"every service is listed, the system's and the default one marked", "D9", OfNIC, func(t *T) {
		devices := t.nics(1)
		if devices[0].Capacity == (core.Capacity{}) {
			t.Skipf("its NICs tell no capacity, so nothing shows whether a service is missing")
		}
		t.untilQuiet("reserved", func() string {
			all := t.services()
			for _, d := range t.nics(1) {
				if said := unaccounted(d, all); said != "" {
					return said
				}
			}
			return ""
		})
		for _, s := range t.services() {
			if s.Default != (s.ID == 1) {
				t.Errorf("service %s/%d: default is %v, and the default service is number 1", s.Device, s.ID, s.Default)
			}
		}
	}},
	{"system and default services are those of before", "D6", OfNIC, func(t *T) {
		spec := t.spec(t.nics(1)[0], 0)
		before := lasting(t.services())
		s := t.made(spec)
		t.should(t.destroy(s)[0], "Destroy")
		if after := lasting(t.services()); !reflect.DeepEqual(before, after) {
			t.Errorf("they were %v and are %v", before, after)
		}
	}},
}

// stable reads the NICs twice.
func (t *T) stable() {
	var names [2][]string
	for i := range names {
		all, err := t.NIC.Devices(t.ctx)
		t.must(err, "Devices")
		for _, d := range all {
			if d.Name == "" || slices.Contains(names[i], d.Name) {
				t.Errorf("Devices: a NIC is called %q, and each has a name of its own", d.Name)
			}
			names[i] = append(names[i], d.Name)
			for r, has := range d.Capacity {
				if has.Free > has.Total {
					t.Errorf("NIC %s: %d %s are free of %d", d.Name, has.Free, core.Resource(r), has.Total)
				}
			}
		}
	}
	if !slices.Equal(names[0], names[1]) {
		t.Errorf("Devices: first %v, then %v", names[0], names[1])
	}
	for _, s := range t.services() {
		if !slices.Contains(names[1], s.Device) {
			t.Errorf("Services: one is on %q, which Devices does not list", s.Device)
		}
	}
}

// device is one NIC as it is now.
func (t *T) device(name string) core.Device {
	all := t.nics(1)
	i := slices.IndexFunc(all, func(d core.Device) bool { return d.Name == name })
	if i < 0 {
		t.Fatalf("NIC %s is no longer listed", name)
	}
	return all[i]
}

// untilQuiet tries again while jobs of the node come and go between two readings.
func (t *T) untilQuiet(what string, look func() string) {
	said := ""
	for range 5 {
		if said = look(); said == "" {
			return
		}
		within(t.ctx.Done(), 100*time.Millisecond)
	}
	t.Errorf("%s: %s", what, said)
}

// unaccounted says what a NIC has reserved that no listed service accounts for.
func unaccounted(d core.Device, all []core.Service) string {
	var sum [core.NumResources]int
	for _, s := range all {
		if s.Device == d.Name {
			for r, l := range s.Limits {
				sum[r] += int(l.Reserved)
			}
		}
	}
	for r, has := range d.Capacity {
		if has.Total > 0 && sum[r] != int(has.Total-has.Free) {
			return fmt.Sprintf("NIC %s: %d %s are reserved, and the listed services account for %d: one is missing, or its limits are not the NIC's",
				d.Name, has.Total-has.Free, core.Resource(r), sum[r])
		}
	}
	return ""
}

// lasting are the services that no plugin may touch, without what changes by itself.
func lasting(all []core.Service) []string {
	var out []string
	for _, s := range all {
		if s.System || s.Default {
			out = append(out, fmt.Sprintf("%s/%d %s %v enabled=%v", s.Device, s.ID, core.FormatVNIs(s.VNIs), s.Limits, s.Enabled))
		}
	}
	slices.Sort(out)
	return out
}
